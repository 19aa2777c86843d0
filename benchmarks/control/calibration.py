"""How true the calibrated simulator is where it was not calibrated.

    python -m benchmarks.control --calibration [--quick] [--again MINUTES] [--keep] [--fresh]

It is fitted as ``drapps calibrate`` does: photos in memory, photos behind 100 MB/s, plain Python
samples. Then it says how fast loaders are in conditions of which it is told the numbers alone:
30 MB/s; 20 ms until the first byte; one burner; pictures of 2.5 times the area; Python samples that
sleep; each with eight settings. Live runs say how fast they are.

- The error of a pair is that of its median rate in the second half of the runs.
- What others on the machine used meanwhile is counted, and for the error the simulator is told it.
- The best setting is chosen by the first half; what it and the simulator's give, by the second. The
  simulator's choice knows of no others. Regret is told as measured, and with their effect taken out
  by the ratio of what the simulator says without them and beside them.
- With --again runs beside foreign load are made once more, for so many minutes, and the less
  disturbed one kept.

An interrupted run goes on where it was. With --keep the raw runs and the page go into
benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks import report
from benchmarks.control.fidelity import Pair, page
from benchmarks.journal import Journal, begin
from drapps.scenario.burners import Burners
from drapps.scenario.conditions import Conditions, Photos, Python, PythonCost, Storage
from drapps.simulation.calibration.conditions import Condition, played
from drapps.simulation.calibration.live import run
from drapps.simulation.calibration.own_machine import fitted, stretches_of, wake
from drapps.simulation.calibration.predict import rate_of
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.calibration.system import core_count
from drapps.simulation.machine import Machine
from drapps.storage import Conditions as StorageConditions

NAME = "control-calibration"
_SECONDS = 2.5
_ROUNDS = 4  # half of them choose, the others score
_QUIET = 0.1  # cores of others up to which a run is not made again
_WIDTH, _HEIGHT = 791, 593  # pixels, 2.5 times the area of the usual pictures

Knobs = Mapping[str, int]


def _storage(**conditions: Any) -> Conditions:
    return Conditions(storage=Storage(StorageConditions(**conditions)))


def _threads(*settings: tuple[int, int, int]) -> list[Knobs]:
    names = ("workers", "io_depth", "prefetch_depth")
    return [{**dict(zip(names, each, strict=True)), "fused": 1} for each in settings]


_SLOW = _threads(
    (2, 16, 4), (2, 1, 4), (2, 4, 4), (2, 64, 4), (1, 16, 4), (2, 16, 1), (2, 2, 2), (1, 4, 8)
)
_FAR = _threads(
    (2, 16, 4), (2, 1, 4), (2, 4, 4), (2, 64, 4), (2, 128, 8), (2, 32, 1), (1, 64, 4), (2, 256, 16)
)
_CPU = [
    *_threads((2, 16, 4), (1, 16, 4), (2, 16, 1), (1, 16, 1), (2, 16, 8), (1, 16, 8), (2, 16, 16)),
    {"workers": 2, "io_depth": 16, "prefetch_depth": 4, "fused": 0},
]
_PROCESSES: list[Knobs] = [{"processes": count} for count in (1, 2, 3, 4, 6, 8, 12, 16)]

CONDITIONS: Sequence[tuple[Condition, Sequence[Knobs]]] = (
    (Condition("30 MB/s", Photos(), _storage(bandwidth=30e6)), _SLOW),
    (Condition("20 ms a read", Photos(), _storage(latency=20e-3)), _FAR),
    (Condition("one burner", Photos(), Conditions(burners=1.0)), _CPU),
    (
        Condition(
            "pictures 2.5 times as large",
            Photos(width=_WIDTH, height=_HEIGHT),
        ),
        _CPU,
    ),
    (
        Condition(
            "Python that sleeps",
            Python(),
            Conditions(python=PythonCost(cpu=0.2e-3, sleep=2e-3)),
        ),
        _PROCESSES,
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints the page; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control --calibration")
    parser.add_argument("--quick", action="store_true", help="two settings each, two rounds")
    parser.add_argument(
        "--again", type=float, default=0.0, metavar="MINUTES", help="repeat disturbed runs"
    )
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    options = parser.parse_args(argv)
    asked = {"seconds": _SECONDS, "cores": core_count()}
    journal = begin(NAME, report.BUILD / NAME / "runs.jsonl", asked, options.fresh)
    runs = _Runs(journal, time.monotonic() + 60 * options.again)
    machine = _machine(journal)
    pairs = list(_pairs(runs, machine, 2 if options.quick else _ROUNDS, options.quick))
    text = page(pairs, machine, report.machine(), report.commit())
    print(text)
    if options.keep:
        raw = {"machine": machine.to_json(), "pairs": [asdict(pair) for pair in pairs]}
        file = report.KEPT / f"{NAME}.json"
        file.write_text(json.dumps(raw, indent=1) + "\n")
        file.with_suffix(".md").write_text(text)
    return 0


def _machine(journal: Journal) -> Machine:
    readings: dict[str, Any] | None = journal.get("calibration")
    if readings is None:
        print("calibrates", flush=True)
        stretches = stretches_of(2.0)
        readings = {
            "stretches": {name: [vars(each) for each in rows] for name, rows in stretches.items()},
            "wake": wake(),
        }
        journal.keep("calibration", result=readings)
    calibration = fitted(
        {name: [Stretch(**each) for each in rows] for name, rows in readings["stretches"].items()},
        readings["wake"],
    )
    print(calibration, flush=True)
    return calibration.machine


def _pairs(runs_of: _Runs, machine: Machine, rounds: int, quick: bool) -> Iterator[Pair]:
    for condition, every in CONDITIONS:
        settings = every[:2] if quick else every
        runs: dict[int, list[Stretch]] = {number: [] for number in range(len(settings))}
        for turn in range(rounds):
            order = sorted(runs, key=lambda number: number * 5 % len(settings))
            for number in order if turn % 2 == 0 else reversed(order):
                runs[number].append(runs_of.run(condition, settings[number], turn))
        world = condition.world(machine)
        for number, knobs in enumerate(settings):
            rows = runs[number]
            yield Pair(
                condition.name,
                dict(knobs),
                [each.rate for each in rows],
                [each.others for each in rows],
                [rate_of(world, knobs, each.others) for each in rows],
                rate_of(world, knobs),
            )


class _Runs:
    """Live runs, kept as they come.

    Args:
        journal: of what was measured.
        until: when, on the monotonic clock, disturbed runs are no longer made again.
    """

    def __init__(self, journal: Journal, until: float) -> None:
        self._journal = journal
        self._until = until

    def run(self, condition: Condition, knobs: Knobs, turn: int) -> Stretch:
        """A setting in a condition, for the `turn`-th time."""
        key = (condition.name, json.dumps(knobs), turn)
        kept: dict[str, Any] | None = self._journal.get(*key)
        if kept is not None:
            enough = kept["others"] <= _QUIET or time.monotonic() > self._until
            if enough:
                return Stretch(**kept)
        with Burners(1 if condition.conditions.burners else 0) as burners:
            burners.become(len(burners.pids), 1.0)
            stretch = run(played(condition), knobs, _SECONDS, condition.name)
        text = ", ".join(f"{name} {value}" for name, value in knobs.items())
        print(f"{condition.name}, {text}: {stretch.rate:,.0f}/s, others {stretch.others:.2f}")
        if kept is not None and kept["others"] <= stretch.others:
            return Stretch(**kept)
        self._journal.keep(*key, result=vars(stretch))
        return stretch
