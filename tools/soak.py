"""Kill worker processes at random for some minutes; every stream must come out exact.

Each round draws a loader (its mode, size and start method) and a plan of passes over it, some left
early. The plan is run once in peace and once with faults: SIGKILL, SIGSEGV and SIGSTOP of random
workers, processes added and retired, or bound workers moved to fewer of them or to more, and in
both runs samples that raise. What comes out must be the same, batches that are held stay as they
were, and behind each round no process and no descriptor is left. Where the first pass is left,
another loader goes on from its state. A second loader with persistent workers lives as long as the
soak.

A seed repeats the rounds; at which instruction a signal hits is up to the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import logging
import os
import random
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from drapps.torch import DataLoader
from drapps.worker import pool
from drapps.worker.autoscaler import MigrationAutoscaler

HANG = 600  # seconds in one round after which all stacks are printed, and the soak fails
MODES = (
    "default",
    "torch_order",
    "iterable",
    "worker_init_fn",
    "batch_size=None",
    "not in_order",
)
FAULTS = (signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP)
MOST_FAULTS = 2  # of one pass: a third may hit the same sample, which is given up then
MiB = 1 << 20


class Numbers(Dataset[Any]):
    """Samples of several sizes that depend on index and random numbers; some raise."""

    def __init__(self, size: int, numbers: int, bad: frozenset[int]) -> None:
        self.size = size
        self.numbers = numbers
        self.bad = bad

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        drawn = random.random()
        time.sleep(0.004 * drawn)
        if index in self.bad:
            raise ValueError(f"bad {index}")
        value = index + drawn + float(torch.rand(()))
        return torch.full((self.numbers,), value, dtype=torch.float64)


class Stream(IterableDataset[Any]):
    """The same samples, in the turn of each worker."""

    def __init__(self, items: Numbers) -> None:
        self.items = items

    def __iter__(self) -> Any:
        info = get_worker_info()
        assert info is not None
        return map(self.items.__getitem__, range(info.id, len(self.items), info.num_workers))


class StatefulStream(Stream):
    """The same, which goes on where it was."""

    place = begin = 0

    def __iter__(self) -> Any:
        info = get_worker_info()
        assert info is not None
        self.place, self.begin = self.begin, 0
        first = info.id + self.place * info.num_workers
        for index in range(first, len(self.items), info.num_workers):
            self.place += 1
            yield self.items[index]

    def state_dict(self) -> dict[str, int]:
        """How many it has given."""
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """The next pass begins there."""
        self.begin = state["place"]


def draw_in_worker(worker: int) -> None:
    """A `worker_init_fn`, which binds a virtual worker to its process."""
    random.seed(worker)


@dataclass
class Plan:
    """A loader, and where its passes are left; None for at their end.

    Either its workers die and are replaced, or those that are bound move.
    """

    mode: str
    options: dict[str, Any]
    dataset: Any
    seed: int
    stops: list[int | None]

    @classmethod
    def draw(cls, rng: random.Random, workers: Sequence[int]) -> Plan:
        """The plan of one round, with one of these numbers of workers."""
        mode = rng.choice(MODES)
        size = rng.choice((40, 96, 150))
        bad = frozenset(rng.sample(range(size), rng.choice((0, 0, 1, 3))))
        # A stream that raises has ended: what comes behind it is the dataset's own affair.
        items = Numbers(
            size, rng.choice((1, 200, 40_000)), frozenset() if mode == "iterable" else bad
        )
        options: dict[str, Any] = {
            "num_workers": rng.choice(workers),
            "pin_memory": torch.cuda.is_available(),
            "batch_size": None if mode == "batch_size=None" else rng.choice((1, 5, 16)),
            "persistent_workers": rng.random() < 0.5,
            "prefetch_factor": rng.choice((None, 1, 3)),
            "multiprocessing_context": rng.choices(("fork", "forkserver"), (40, 1))[0],
        }
        if mode != "iterable":
            options["shuffle"] = rng.random() < 0.7
        options |= {
            "torch_order": {"torch_order": True},
            "worker_init_fn": {"worker_init_fn": draw_in_worker},
            "not in_order": {"in_order": False},
        }.get(mode, {})
        if mode not in ("iterable", "torch_order") or rng.random() < 0.6:
            options["on_worker_death"] = "restart"
        stream = rng.choice((Stream, StatefulStream))
        dataset = stream(items) if mode == "iterable" else items
        stops = [rng.choice((None, None, rng.randrange(1, 8))) for _ in range(rng.randrange(1, 4))]
        return cls(mode, options, dataset, rng.randrange(1 << 30), stops)

    def loader(self) -> DataLoader[Any]:
        """A new loader of the plan."""
        generator = torch.Generator().manual_seed(self.seed)
        return DataLoader(self.dataset, generator=generator, **self.options)


@dataclass
class Tormentor:
    """Hits the processes of an iterator now and then, and counts what it did."""

    rng: random.Random
    counts: dict[str, int] = field(default_factory=dict)
    _left: int = 0

    def begin(self) -> None:
        """A new pass."""
        self._left = self.rng.choice((0, 1, MOST_FAULTS))

    def may_hit(self, iterator: Any) -> None:
        """Between two batches."""
        processes = iterator._processes
        if isinstance(processes.autoscaler, MigrationAutoscaler):
            if self.rng.random() < 0.2:
                processes.autoscaler.migrations.aim(self.rng.randrange(1, 5), "the soak says so")
                self._count("migrated")
            return
        if self._left and self.rng.random() < 0.2:
            self._left -= 1
            fault = self.rng.choice(FAULTS)
            process = self.rng.choice(iterator._workers)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, fault)
            self._count(fault.name)
        if not processes.assignment.bound and self.rng.random() < 0.1:
            active = processes.pool.active
            if len(active) > 1 and self.rng.random() < 0.5:
                processes.pool.retire(self.rng.choice(active).number)
                self._count("retired")
            elif len(active) < 6:
                processes.pool.start(0)
                self._count("started")

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass
class Held:
    """Batches that are kept for a while, beside copies of what they were."""

    rng: random.Random
    kept: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)

    def offer(self, batch: torch.Tensor) -> None:
        """Keeps some, and lets go of others."""
        if self.rng.random() < 0.1:
            self.kept.append((batch, batch.clone()))
        if len(self.kept) > 12:
            self.check()
            self.rng.shuffle(self.kept)
            del self.kept[6:]

    def check(self) -> None:
        """They are what they were."""
        for batch, copy in self.kept:
            assert torch.equal(batch, copy), "a batch that was held has changed"


def outcome(batch: torch.Tensor) -> list[float]:
    """The values of a batch, each of which fills its sample."""
    rows = batch.reshape(-1, batch.shape[-1])
    assert bool((rows == rows[:, :1]).all()), "a torn sample"
    return [float(value) for value in rows[:, 0]]


def one_pass(
    loader: DataLoader[Any], stop: int | None, tormentor: Tormentor | None, held: Held | None
) -> list[Any]:
    """What a pass gives: lists of values, and the texts of errors."""
    results: list[Any] = []
    iterator = iter(loader)
    if tormentor is not None:
        tormentor.begin()
    while stop is None or len(results) < stop:
        if tormentor is not None:
            tormentor.may_hit(iterator)
        try:
            batch = next(iterator)
        except StopIteration:
            break
        except ValueError as error:
            text = str(error)
            results.append([text[text.index("bad ") :].split()[1]])
            continue
        results.append(outcome(batch))
        if held is not None:
            held.offer(batch)
    return results


def run_plan(plan: Plan, tormentor: Tormentor | None, held: Held | None) -> list[Any]:
    """What all passes of a plan give."""
    loader = plan.loader()
    passes = [one_pass(loader, stop, tormentor, held) for stop in plan.stops]
    if plan.mode == "not in_order":  # which batches a pass that is left has given is open
        return [sorted(map(str, p)) for p, stop in zip(passes, plan.stops, strict=True) if not stop]
    return passes


def check_resumed(plan: Plan, tormentor: Tormentor, held: Held) -> None:
    """Where the first pass is left, another loader gives the rest."""
    stop = plan.stops[0]
    if stop is None or plan.mode == "not in_order":
        return
    whole = one_pass(plan.loader(), None, None, None)
    if stop >= len(whole):
        return
    loader, again = plan.loader(), plan.loader()
    begin = one_pass(loader, stop, tormentor, held)
    again.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    rest = one_pass(again, None, tormentor, held)
    assert begin + rest == whole, f"another rest with {plan}"


def children() -> list[int]:
    """Processes of this one and of multiprocessing's servers, which themselves do not count."""
    pids = _children_of(os.getpid())
    servers = [pid for pid in pids if _is_server(pid)]
    of_servers = [pid for server in servers for pid in _children_of(server)]
    return [pid for pid in pids if pid not in servers] + of_servers


def _children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def _is_server(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True
    return b"resource_tracker" in command or b"forkserver" in command


def pss(pids: list[int]) -> int:
    """Bytes of memory of some processes, what they share counted once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def soak(minutes: float, seed: int, workers: Sequence[int]) -> int:
    """Runs rounds until the time is up; 1 where something was wrong."""
    logging.getLogger("drapps").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "This DataLoader will create")
    torch.set_num_threads(1)
    pool._SILENCE = 1.0  # so that more stops find their place in the time
    rng = random.Random(seed)
    tormentor, held = Tormentor(rng), Held(rng)
    options = {"num_workers": 2, "batch_size": 8, "shuffle": True, "persistent_workers": True}
    options["on_worker_death"] = "restart"
    lasting = Plan("default", options, Numbers(128, 20_000, frozenset({31})), seed, [])
    long, peaceful = lasting.loader(), lasting.loader()
    began, rounds, minute = time.monotonic(), 0, 0
    descriptors: int | None = None
    memory: list[int] = []
    print(f"soak: {minutes:g} minutes, seed {seed}", flush=True)
    while time.monotonic() - began < 60 * minutes:
        faulthandler.dump_traceback_later(HANG, exit=True)
        plan = Plan.draw(rng, workers)
        expected = run_plan(plan, None, None)
        given = run_plan(plan, tormentor, held)
        assert given == expected, f"round {rounds}: another stream with {plan}"
        del expected, given
        check_resumed(plan, tormentor, held)
        expected_long = one_pass(peaceful, None, None, None)
        given_long = one_pass(long, None, tormentor, held)
        assert given_long == expected_long, f"round {rounds}: another stream of the long loader"
        held.check()
        gc.collect()
        iterators = (long._iterator, peaceful._iterator)
        pools = [iterator._processes.pool for iterator in iterators]
        running = {each.pid for one in pools for each in one.running.values()}
        left = set(children()) - running
        assert not left, f"round {rounds}: processes {left} are left by {plan}"
        count = len(list(Path("/proc/self/fd").iterdir())) - 4 * len(running)
        if rounds >= 3 and descriptors is None:
            descriptors = count
        if plan.options["multiprocessing_context"] != "fork":
            descriptors = None  # a server has begun, perhaps
        elif descriptors is not None:
            # Held batches keep the memory of their loaders, a descriptor each.
            assert count <= descriptors + 24, f"round {rounds}: {count} descriptors"
        # How many processes there are is the loader's to choose; how large one is, is not.
        memory.append(pss([os.getpid()]) + pss(list(running)) // max(1, len(running)))
        rounds += 1
        if time.monotonic() - began >= 60 * (minute + 1):
            minute += 1
            resident = long._iterator._processes.board.resident()
            print(
                f"minute {minute}: {rounds} rounds, {tormentor.counts}, {count} descriptors, "
                f"{len(running)} processes, {memory[-1] / MiB:.0f} MiB, board {resident / MiB:.0f} "
                "MiB",
                flush=True,
            )
    faulthandler.cancel_dump_traceback_later()
    third = len(memory) // 3
    if third >= 5:
        early, late = (
            statistics.median(memory[third : 2 * third]),
            statistics.median(memory[-third:]),
        )
        assert late <= 1.1 * early + 32 * MiB, f"memory grew from {early} to {late} bytes"
    print(f"soak: {rounds} rounds exact, {tormentor.counts}", flush=True)
    return 0


def main() -> int:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="repeats the rounds of another run")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="to draw from")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if options.seed is None else options.seed
    return soak(options.minutes, seed, options.workers)


if __name__ == "__main__":
    sys.exit(main())
