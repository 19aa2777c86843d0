"""A training that waits as a case says; it is given as JSON.

Reads come from a process that answers late, decoding and blurring are Pillow's, Python code is
Python's; each is repeated until it has taken as long as the case wants.
"""

from __future__ import annotations

import importlib.util
import io
import json
import mmap
import os
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFilter
from torch.utils.data import DataLoader, Dataset

from drapps.watching.device import EmulatedDevice
from drapps.watching.machine import cores

# Of a batch's making, what the cause takes; the rest is a little of everything.
_SHARE = 0.85
_MANY = 4  # workers for each core, where there are too many of them
_POLLS, _PERIOD_S = 1 / 8, 0.02  # of a core, that each of these takes beside its work
_MAPPED = 4 << 30  # bytes of a file, more than the memory that there is
_PAGES = 64


class Store:
    """Answers each request after some seconds, from a thread of its own in each process."""

    def __init__(self) -> None:
        self._pid = 0

    def get(self, seconds: float) -> bytes:
        """Some bytes, after so long."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._asks, answers = socket.socketpair()
            threading.Thread(target=self._serve, args=(answers,), daemon=True).start()
        self._asks.sendall(f"{seconds:.9f}\n".encode())
        return self._asks.recv(64)

    def _serve(self, answers: socket.socket) -> None:
        for line in answers.makefile("r"):
            time.sleep(float(line))
            answers.sendall(b"x" * 64)


STORE = Store()


class Mapped:
    """A file that is mapped and does not fit into memory: a page is not there when it is asked for.

    It has no contents, so that a page costs a fault and no time of a disk.
    """

    def __init__(self) -> None:
        self._pid = 0

    def read(self, seconds: float) -> None:
        """Reads pages at random, for so long."""
        if self._pid != os.getpid():
            self._pid, self._chance = os.getpid(), random.Random(os.getpid())
            with tempfile.TemporaryFile() as file:
                file.truncate(_MAPPED)
                self._pages = mmap.mmap(file.fileno(), _MAPPED, prot=mmap.PROT_READ)
            self._pages.madvise(mmap.MADV_RANDOM)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(_PAGES):
                self._pages[self._chance.randrange(_MAPPED)]


MAPPED = Mapped()


def polls(worker: int) -> None:
    """Begins a thread of a worker that asks again and again for something, as pools of some do."""
    del worker

    def run() -> None:
        while True:
            repeated("polls", in_python, _POLLS * _PERIOD_S)
            time.sleep((1 - _POLLS) * _PERIOD_S)

    threading.Thread(target=run, daemon=True).start()


_owed: Counter[str] = Counter()  # CPU seconds, by what is to take them


def repeated(what: str, work: Callable[[], Any], seconds: float) -> None:
    """Works for so much CPU time; what it takes too long is left out the next times."""
    _owed[what] += seconds
    while _owed[what] > 0:
        begun = time.thread_time()
        work()
        _owed[what] -= time.thread_time() - begun


def pixels(data: bytes) -> bytes:
    """Of a picture, so that nothing puts off its decoding."""
    return Image.open(io.BytesIO(data)).convert("RGB").tobytes()


def jpeg() -> bytes:
    """A picture."""
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "jpeg")
    return out.getvalue()


class Records(Dataset[Any]):
    """Samples that take what the case wants."""

    def __init__(self, spent: dict[str, float], case: dict[str, Any]) -> None:
        self.spent, self.case = spent, case
        self.bytes = jpeg()
        self.small = Image.open(io.BytesIO(self.bytes)).convert("RGB")

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> Any:
        spent, more = self.spent, self.case.get("long", {})
        if spent.get("read"):
            STORE.get(spent["read"])
        if more and index % more["every"] < more["many"]:
            STORE.get(more["seconds"])
        if spent.get("pages"):
            MAPPED.read(spent["pages"])
        if spent.get("decode"):
            repeated("decode", lambda: pixels(self.bytes), spent["decode"])
        if spent.get("blur"):
            blur = ImageFilter.GaussianBlur(2)
            repeated("blur", lambda: self.small.filter(blur), spent["blur"])
        if spent.get("python"):
            repeated("python", in_python, spent["python"])
        return torch.zeros(4)


def in_python() -> list[int]:
    """What a transform of the user's may do."""
    return [value * 3 % 7 for value in range(2000)]


class Collate:
    """Puts samples together, and takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, samples: list[Any]) -> Any:
        """The batch."""
        if self.seconds:
            repeated("collate", in_python, self.seconds)
        return torch.stack(samples)


_PARTS = {
    "slow_read": "read",
    "slow_rank_data": "read",
    "slow_decode": "decode",
    "slow_op": "blur",
    "python_transform": "python",
    "collate": "collate",
    "memory": "pages",
}


def spent_by(case: dict[str, Any], rank: int) -> tuple[dict[str, float], int, int]:
    """Seconds by part of a sample, the number of workers, and the prefetch factor."""
    step, batch = case["step_s"], case["batch"]
    spent: dict[str, float] = {"decode": 0.02 * step / batch}
    workers, prefetch = 1, 2
    stall = 1.0
    for cost in case["cost"]:
        stall *= 1 - cost
    making = step / stall  # of a batch, by one worker, so that steps wait for the cost
    total = sum(case["cost"])
    for cause, cost in zip(case["causes"], case["cost"], strict=True):
        part = _PARTS.get(cause)
        if part is not None and (cause != "slow_rank_data" or rank == 1):
            spent[part] = spent.get(part, 0) + _SHARE * making * cost / total / batch
            rest = (1 - _SHARE) * making * cost / total / batch
            for other in ("read", "decode", "blur"):
                spent[other] = spent.get(other, 0) + rest / 3
        elif cause == "few_workers":
            for other in ("read", "decode", "blur"):
                spent[other] = making / 3 / batch
        elif cause == "no_workers":
            workers = 0
            for other in ("read", "decode", "blur"):
                spent[other] = step * cost / (1 - cost) / 3 / batch
        elif cause == "many_workers":
            # What their polling leaves of the cores makes batches too slowly; as many workers as
            # cores would make them in time.
            workers = int(_MANY * cores())
            left = cores() - workers * _POLLS
            spent["decode"] = left * making / batch
        elif cause == "small_wait":
            workers, spent = 0, {"decode": step * cost / (1 - cost) / batch}
        elif cause == "accelerator":
            workers, spent = 0, {"decode": step * cost / batch}  # which the device hides
        elif cause in ("quota", "foreign_load"):
            spent["decode"] = 0.9 * step / batch
        elif cause == "straggler":
            # One sample in 100 is long; what the batches made ahead cover does not count.
            workers = 2
            lost = 100 / batch * step * cost / (1 - cost)
            case["long"] = {"every": 100, "many": 1, "seconds": lost + workers * prefetch * step}
        elif cause == "prefetch":
            # A fifth of the batches is long, all their samples; the mean would do for two workers.
            workers, prefetch = 2, 1
            lost = 5 * step * cost / (1 - cost) + workers * step
            case["long"] = {"every": 5 * batch, "many": batch, "seconds": lost / batch}
    return spent, workers, prefetch


def loader_of(case: dict[str, Any], rank: int) -> Any:
    """The loader of the training."""
    spent, workers, prefetch = spent_by(case, rank)
    options: dict[str, Any] = {"prefetch_factor": prefetch} if workers else {}
    if "many_workers" in case["causes"]:
        options["worker_init_fn"] = polls
    kind: Any = DataLoader
    if case["loader"] == "drapps":
        import drapps.torch

        kind, options["policy"] = drapps.torch.DataLoader, "initial"
    return kind(
        Records(spent, case),
        batch_size=case["batch"],
        num_workers=workers,
        collate_fn=Collate(spent.get("collate", 0.0) * case["batch"]),
        **options,
    )


def pauses(case: dict[str, Any]) -> Iterator[None]:
    """Once a step: what takes place between steps now and then."""
    every, cause = 25, case["causes"][0]
    lost = every * case["step_s"] * case["cost"][0] / (1 - case["cost"][0])
    number = 0
    while True:
        number += 1
        if number % every == 0 and cause == "logging":
            time.sleep(lost)
        if number % every == 0 and cause == "validation":
            with torch.no_grad():
                for _ in DataLoader(Records({}, {}), batch_size=8, sampler=range(80)):
                    time.sleep(lost / 10)
        yield


class Sleeping(torch.nn.Module):
    """A model that takes so many seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, seconds: float) -> torch.Tensor:
        """A loss."""
        time.sleep(seconds)
        return self.weight.sum()


def training_step() -> Callable[[float], None]:
    """What takes so many seconds of a step; under TraceML all that it wants to see of one."""
    if importlib.util.find_spec("traceml_ai") is None:
        return time.sleep
    import traceml_ai

    traceml_ai.init()
    model = Sleeping()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)

    def step(seconds: float) -> None:
        with traceml_ai.trace_step(model):
            model(seconds).backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def main() -> None:
    """Trains for as long as is said, and prints how many steps that were."""
    case, seconds = json.loads(sys.argv[1]), float(sys.argv[2])
    torch.set_num_threads(1)
    random.seed(case["seed"])
    rank = int(os.environ.get("RANK", 0))
    group = "slow_rank" in case["causes"] or "slow_rank_data" in case["causes"]
    if group:
        torch.distributed.init_process_group("gloo")
    step = case["step_s"]
    slow = case["cost"][0] if case["causes"][0] == "slow_rank" and rank == 1 else 0.0
    device = EmulatedDevice()
    if "accelerator" in case["causes"]:
        from drapps.watching.recorder import HERE

        if HERE.folder is not None:
            HERE.recorder().idleness.use(device)
    between, train = pauses(case), training_step()
    end, steps, batches = 0.0, 0, iter(loader_of(case, rank))
    done = torch.zeros(1)
    while not done.item():
        next(batches)
        end = end or time.perf_counter() + seconds
        if "accelerator" in case["causes"]:
            device.launch(step)
            time.sleep(max(0.0, device.ahead_s() - 2 * step))
        else:
            train(step / (1 - slow))
        next(between)
        steps += 1
        done[0] = time.perf_counter() > end
        if group:
            torch.distributed.all_reduce(done)
    print(json.dumps({"steps": steps}), flush=True)
    if group:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
