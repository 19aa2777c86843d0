"""``drapps watch --pid PID``: the same verdict of a job that runs already, with less known.

The share of the time that waits is that of the looks in which the training stood in ``next``: work
that a device still had then is not known from outside.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError
from drapps.watching.account import MakingAccount, Parts, RankAccount
from drapps.watching.frames import FETCHES, of_user, place_of
from drapps.watching.machine import (
    busy_s,
    cgroup_folder,
    cores,
    memory_pressure_s,
    quota_of,
    throttled_s,
)
from drapps.watching.report import WatchReport
from drapps.watching.spying import Stack, stacks_of
from drapps.watching.stages import COLLATE
from drapps.watching.times import Spread, Timeline
from drapps.watching.verdict import judged

_NEXT = ("torch/utils/data/dataloader.py", "drapps/torch/", "data/ops/iterator_ops.py", "grain/")
_COLLATE = ("collate_fn", "default_collate")


def watch_pid(pid: int, seconds: float) -> WatchReport:
    """Looks at a running job and its children for so long.

    Raises:
        PipelineError: it cannot be looked at, or trains with no loader that is known; the message
            says what is missing.
    """
    before = _Reading.of(pid)
    stacks = stacks_of(pid, seconds)
    spent = _Reading.of(pid).since(before)
    passed = spent.at
    asking = sorted({each.pid for each in stacks if _in_next(each)})
    if not asking:
        raise PipelineError(
            f"process {pid} and its children took no batch from a loader that is known in "
            f"{passed:.0f} s; is it training?"
        )
    ranks = [_rank(number, each, stacks, spent) for number, each in enumerate(asking)]
    worst = max(ranks, key=lambda rank: rank.stall)
    return WatchReport(
        **judged(ranks),
        seconds=passed,
        stages=worst.stages(),
        resources={kind: worst.making.share(resource=kind) for kind in ("cpu", "core", "wait")},
        slowest=[],
        ranks=[],
        hooked={f"process {each}": "seen from outside" for each in asking},
    )


def _in_next(stack: Stack) -> bool:
    names = ("__next__", "_next_data")
    return any(
        spot.name.rpartition(".")[2] in names and any(part in spot.file for part in _NEXT)
        for spot in stack.spots
    )


def _fetching(stack: Stack) -> bool:
    return any(spot.file.endswith(FETCHES) for spot in stack.spots)


def _rank(
    number: int,
    pid: int,
    stacks: Sequence[Stack],
    spent: _Reading,
) -> RankAccount:
    passed = spent.at
    own = [each for each in stacks if each.pid == pid and each.thread == "MainThread"]
    looks = max(1, sum(each.count for each in own))
    waits = sum(each.count for each in own if _in_next(each))
    others = {each.pid for each in stacks if each.pid != pid and _fetching(each)}
    makers = sorted(others) or [pid]
    each_s = passed / looks
    steps, body, waited = Spread(), Spread(), Spread()
    for _ in range(looks):
        steps.add(each_s)
        body.add(each_s * (1 - waits / looks))
        waited.add(each_s * waits / looks)
    lines: Counter[tuple[str, str]] = Counter()
    for each in own:
        if not _in_next(each):
            shown = next((spot for spot in each.spots if of_user(spot.file)), each.spots[0])
            lines[f"{shown.file}:{shown.line}", shown.text()[:80]] += each.count
    return RankAccount(
        rank=number,
        pid=pid,
        seconds=passed,
        loader={"kind": "stock", "num_workers": len(others)},
        steps=steps,
        body=body,
        elsewhere=0.0,
        exposed_s=passed * waits / looks,
        waits=waited,
        waited_steps=waits,
        handover_share=None,
        queue_s=0.0,
        device_busy=None,
        apart={},
        starts=[],
        gaps=[],
        making=_making(stacks, makers, spent, workers=len(others)),
        synchronising_s=0.0,
        step_lines=[(each_s * seen, *place) for place, seen in lines.most_common(5)],
        machine=spent.facts(pid),
        timeline=Timeline(0.0).facts(),
        grown_bytes_per_hour=0.0,
    )


def _making(
    stacks: Sequence[Stack],
    makers: Sequence[int],
    spent: _Reading,
    workers: int,
) -> MakingAccount:
    passed = spent.at
    parts: Parts = defaultdict(float)
    lines: Counter[tuple[str, str, str, str]] = Counter()
    busy = 0.0
    for maker in makers:
        seen = [each for each in stacks if each.pid == maker and each.thread == "MainThread"]
        looks = max(1, sum(each.count for each in seen))
        cpu, queue = spent.spent.get(maker, (0.0, 0.0))
        resources = {"cpu": cpu / passed, "core": queue / passed}
        resources["wait"] = max(0.0, 1 - sum(resources.values()))
        for each in seen:
            if not _fetching(each):
                continue
            collates = any(spot.name.rpartition(".")[2] in _COLLATE for spot in each.spots)
            place = place_of(each.spots, "wait")
            stage = COLLATE if collates else place.stage
            seconds = passed * each.count / looks
            busy += seconds
            lines[place.line, place.text, stage, "wait"] += each.count
            for resource, share in resources.items():
                parts[stage, resource] += seconds * share
    counted = max(1, sum(lines.values()))
    return MakingAccount(
        workers=workers,
        seconds=passed * len(makers),
        busy_s=busy,
        parts={key: seconds for key, seconds in parts.items() if seconds > 0},
        lines=[(busy * count / counted, *key) for key, count in lines.most_common(20)],
    )


@dataclass(frozen=True)
class _Reading:
    """The counts of a job and its machine at one moment.

    Attributes:
        at: when.
        spent: by process, seconds on a core and in the queue for one, of its main thread.
        machine: of the rest.
    """

    at: float
    spent: dict[int, tuple[float, float]]
    machine: dict[str, float]

    @classmethod
    def of(cls, pid: int) -> _Reading:
        spent = {}
        for each in _tree(pid):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{each}/schedstat").read_text().split()
                spent[each] = (int(fields[0]) * 1e-9, int(fields[1]) * 1e-9)
        machine = {
            "throttled_s": throttled_s(cgroup_folder("cpu", str(pid))),
            "memory_pressure_s": memory_pressure_s(),
            "busy_s": busy_s(),
        }
        return cls(time.perf_counter(), spent, machine)

    def since(self, before: _Reading) -> _Reading:
        spent = {
            each: _since(now, before.spent[each])
            for each, now in self.spent.items()
            if each in before.spent
        }
        machine = {name: now - before.machine[name] for name, now in self.machine.items()}
        return _Reading(self.at - before.at, spent, machine)

    def facts(self, pid: int) -> dict[str, Any]:
        """The facts, as `Machine.facts` gives them of a process that records itself."""
        own = self.spent.get(pid, (0.0, 0.0))[0]
        return self.machine | {
            "seconds": self.at,
            "cores": cores(),
            "quota": quota_of(cgroup_folder("cpu", str(pid))),
            "own_cpu_s": own,
            "workers_cpu_s": sum(cpu for cpu, _ in self.spent.values()) - own,
            "major_faults": 0.0,
        }


def _since(now: tuple[float, float], before: tuple[float, float]) -> tuple[float, float]:
    return now[0] - before[0], now[1] - before[1]


def _tree(pid: int) -> list[int]:
    """A process and all that come from it."""
    parents: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(fields[1])].append(int(entry.name))
    pids, waiting = [], [pid]
    while waiting:
        each = waiting.pop()
        pids.append(each)
        waiting += parents[each]
    return pids
