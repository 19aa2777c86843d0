"""Scenario python-dataset; scenario.md says what it measures and why so."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, Contestant, ContestantError, python, rate
from benchmarks.journal import Journal, begin, code

NAME = "python-dataset"
ROUNDS = 9  # the fewest from which the 95 % interval of a median leaves out the worst

WORK_S = {"100us": 1e-4, "1ms": 1e-3, "10ms": 1e-2}
FLOATS = {"4k": 1 << 10, "64k": 16 << 10, "600k": 150 << 10}
BATCH = 64
WANTED = 0.97
WANTED_MORE = {
    "work_100us_600k": 2.0,
    "stragglers_cpu": 0.9,
    "stragglers_sleep": 0.9,
    "sleepers": 0.9,
}
LIMITS = {"epoch_gap": 2.0, "gil_delay": 1.5}

_HERE = Path(__file__).resolve().parent
_CORES = len(os.sched_getaffinity(0))
_SLOW_MEAN = 1.99  # of the samples' work where one in a hundred takes a hundred times as long
SLOW_WARM = 4  # epochs in which DRAPPS finds the number of processes
_EPOCHS = 6  # whose gaps are taken in one round
_LIFE = 3  # rounds of a contestant's processes in most cases
_COMPARED = 8  # batches
_NAP_S = 0.05  # that each sample of `sleepers` sleeps
_BEGIN_S, _STRETCH_S = 15.0, 30.0  # what of a loader's life is measured there
_FIXED = (0.5, 0.75, 1.0, 1.25)  # numbers of processes, of those that fill the cores
# As many rounds: more where no loader can differ by more than the machine does, fewer long ones.
_TIMES = {"10ms": 3, "sleepers": 1 / 3}


@dataclass(frozen=True)
class Lane:
    """A contestant in a case.

    Attributes:
        loader: ``drapps`` or ``torch``.
        spec: see `child.Child`.
        ask: the command of each round.
        warm: how often it is given before.
        first: the command that is given once before all.
    """

    loader: str
    spec: Mapping[str, Any]
    ask: Mapping[str, Any]
    warm: int = 1
    first: Mapping[str, Any] | None = None


@dataclass
class Bench:
    """One run: what was measured, and what goes on being measured."""

    count: int
    seconds: float
    journal: Journal
    turns_per_s: float
    result: report.Result

    def spec(self, work: str, size: str, workers: int, **more: Any) -> dict[str, Any]:
        """A loader; its epoch keeps all cores busy for about the time of a measurement."""
        work_s, slow = WORK_S[work], more.get("slow", "no")
        samples = self.seconds * _CORES / (work_s * (1 if slow == "no" else _SLOW_MEAN))
        return {
            "samples": _whole_turns(samples) * BATCH,
            "turns": round(work_s * self.turns_per_s),
            "work_s": work_s,
            "floats": FLOATS[size],
            "slow": "no",
            "batch": BATCH,
            "workers": workers,
            "persistent": True,
            "seed": 6,
            **more,
        }

    def rounds(
        self, case: str, lanes: Mapping[str, Lane], times: float = 1, life: int = _LIFE
    ) -> dict[str, list[Answer]]:
        """All lanes in turn, each round beginning with another one; those kept are not repeated.

        Args:
            case: its name.
            lanes: its contestants by name.
            times: so many times the rounds of a case.
            life: so many rounds are of the same processes.
        """
        count = max(1, round(self.count * times))
        for first in range(0, count, life):
            self._rounds_of_one_life(case, lanes, range(first, min(first + life, count)))
        rounds = [self.journal.get("round", case, number) for number in range(count)]
        by_lane = {name: [answers[name] for answers in rounds] for name in lanes}
        self.result.rounds[case] = {
            name: [{k: v for k, v in answer.items() if k != "gaps_s"} for answer in answers]
            for name, answers in by_lane.items()
        }
        self.result.figures[case] = {name: _figures(answers) for name, answers in by_lane.items()}
        return by_lane

    def _rounds_of_one_life(
        self, case: str, lanes: Mapping[str, Lane], numbers: Collection[int]
    ) -> None:
        missing = [each for each in numbers if self.journal.get("round", case, each) is None]
        if not missing:
            return
        with ExitStack() as stack:
            running = {name: _started(stack, name, lane) for name, lane in lanes.items()}
            for number in missing:
                names = list(lanes)
                first = number % len(names)
                answers = {
                    name: _asked(running[name], lanes[name])
                    for name in [*names[first:], *names[:first]]
                }
                self.journal.keep("round", case, number, result=answers)

    def probe(
        self, case: str, specs: Mapping[int, Mapping[str, Any]], epochs: int = 1
    ) -> dict[int, float]:
        """The stock loader's samples/s over some epochs at several numbers of workers."""
        rates = {}
        for workers, spec in specs.items():
            answer = self.journal.get("probe", case, workers)
            if answer is None:
                with ExitStack() as stack:
                    lane = Lane("torch", spec, {"what": "epochs", "count": epochs}, warm=0)
                    answer = _asked(_started(stack, "stock", lane), lane)
                self.journal.keep("probe", case, workers, result=answer)
            rates[workers] = rate(answer)
        return rates

    def compare(self, lanes: Mapping[str, Lane]) -> None:
        """Makes sure that two loaders give the same tensors in the same order, a short epoch long.

        Raises:
            ContestantError: they do not.
        """
        ask = {"what": "outputs"}
        pair = []
        for name, lane in lanes.items():
            spec = {**lane.spec, "samples": _COMPARED * BATCH + 1}
            with ExitStack() as stack:
                pair.append(_started(stack, name, Lane(lane.loader, spec, ask, warm=0)).ask(**ask))
        if pair[0] != pair[1]:
            raise ContestantError(f"the outputs differ: {' and '.join(lanes)}")

    def add(self, name: str, rounds: list[float]) -> None:
        """A ratio, and what it should be."""
        self.result.add_ratio(name, rounds)
        if name in LIMITS:
            self.result.limits[name] = LIMITS[name]
        elif name in WANTED_MORE:
            self.result.wanted[name] = WANTED_MORE[name]
        low, high = self.result.intervals[name]
        print(f"  {name} {self.result.ratios[name]:.3f} ({low:.3f} to {high:.3f})", flush=True)


def new_bench(count: int, seconds: float, journal: Journal, name: str = NAME) -> Bench:
    """A run of the scenario `name`, with the speed of this machine that its journal holds."""
    from benchmarks.python_dataset.data import turns_per_second  # torch is slow to import

    if journal.get("turns_per_s") is None:
        journal.keep("turns_per_s", result=turns_per_second())
    return Bench(count, seconds, journal, journal.get("turns_per_s"), report.Result(name))


def measure(
    count: int, seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures all cases in `count` rounds, about `seconds` for each contestant in each.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out all cases whose names begin otherwise.

    Raises:
        ContestantError: no case is left.
    """
    asked = {"seconds": seconds, "cores": _CORES, "code": code(sorted(_HERE.glob("*.py")))}
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    bench = new_bench(count, seconds, journal)
    cases: dict[str, Callable[[], None]] = {
        f"work_{work}_{size}": partial(_work, bench, work, size)
        for work in WORK_S
        for size in FLOATS
    }
    cases |= {
        "stragglers_cpu": partial(_stragglers_cpu, bench),
        "stragglers_sleep": partial(_stragglers_sleep, bench),
        "sleepers": partial(_sleepers, bench),
        "first_batch": partial(_first_batch, bench),
        "epoch_gap": partial(_epoch_gap, bench),
        "gil_delay": partial(_delay, bench),
    }
    chosen = [name for name in cases if not only or name.startswith(tuple(only))]
    if not chosen:
        raise ContestantError(f"no case {', '.join(only)}; there are {', '.join(cases)}")
    for name in chosen:
        cases[name]()
    return bench.result


def _work(bench: Bench, work: str, size: str) -> None:
    case = f"work_{work}_{size}"
    print(f"{NAME}, {work} of Python, {size}B", flush=True)
    probe = bench.probe(case, {each: bench.spec(work, size, each) for each in worker_numbers()})
    best = max(probe, key=lambda each: probe[each])
    speeds = ", ".join(f"{workers}: {each:,.0f}" for workers, each in probe.items())
    print(f"  stock loader's samples/s by num_workers: {speeds}", flush=True)
    ask = {"what": "epochs", "count": 1}
    lanes = {
        "drapps": Lane("drapps", bench.spec(work, size, _CORES), ask),
        "stock": Lane("torch", bench.spec(work, size, best), ask),
    }
    bench.compare(lanes)
    answers = bench.rounds(case, lanes, _TIMES.get(work, 1), life=1)
    bench.result.figures[case]["stock"] |= {"num_workers": best, "probe_samples_per_s": probe}
    bench.result.wanted[case] = WANTED
    bench.add(case, report.ratios(answers["drapps"], answers["stock"]))


def _stragglers_cpu(bench: Bench) -> None:
    print(f"{NAME}, one sample in a hundred a hundred times as slow", flush=True)
    ask = {"what": "epochs", "count": 1}
    spec = bench.spec("1ms", "64k", _CORES, slow="spin")
    answers = bench.rounds(
        "stragglers_cpu", {"drapps": Lane("drapps", spec, ask), "stock": Lane("torch", spec, ask)}
    )
    for name, prefix in (("drapps", ""), ("stock", "stock_")):
        shares = [each["service_s"] / _CORES / each["seconds"] for each in answers[name]]
        bench.add(f"{prefix}stragglers_cpu", shares)


def _stragglers_sleep(bench: Bench) -> None:
    print(f"{NAME}, one sample in a hundred asleep", flush=True)
    ask = {"what": "epochs", "count": 1}
    without = bench.spec("1ms", "64k", _CORES)
    without["samples"] *= 2  # an epoch ends with one process asleep
    slow = {**without, "slow": "sleep"}
    lanes = {
        "drapps": Lane("drapps", slow, ask, SLOW_WARM),
        "drapps_without": Lane("drapps", without, ask),
        "stock": Lane("torch", slow, ask),
        "stock_without": Lane("torch", without, ask),
    }
    answers = bench.rounds("stragglers_sleep", lanes)
    for name, prefix in (("drapps", ""), ("stock", "stock_")):
        rates = report.ratios(answers[name], answers[f"{name}_without"])
        bench.add(f"{prefix}stragglers_sleep", rates)


def _sleepers(bench: Bench) -> None:
    print(f"{NAME}, 1 ms of work and {_NAP_S * 1e3:.0f} ms asleep", flush=True)
    filling = _CORES * (WORK_S["1ms"] + _NAP_S) / WORK_S["1ms"]
    spec = bench.spec("1ms", "4k", _CORES, nap_s=_NAP_S)
    spec["samples"] = 100 * BATCH
    ask = {"what": "stretch", "begin_s": _BEGIN_S, "seconds": _STRETCH_S}
    lanes = {"drapps": Lane("drapps", spec, ask, warm=0)}
    for share in _FIXED:
        number = round(share * filling)
        lanes[f"fixed_{number}"] = Lane("drapps", {**spec, "fixed": number}, ask, warm=0)
        lanes[f"stock_{number}"] = Lane("torch", {**spec, "workers": number}, ask, warm=0)
    answers = bench.rounds("sleepers", lanes, _TIMES["sleepers"], life=1)
    for name, prefix in (("sleepers", "fixed_"), ("sleepers_stock", "stock_")):
        others = [mine for other, mine in answers.items() if other.startswith(prefix)]
        best = [max(rate(answer) for answer in each) for each in zip(*others, strict=True)]
        bench.add(name, [rate(a) / b for a, b in zip(answers["drapps"], best, strict=True)])


def _first_batch(bench: Bench) -> None:
    print(f"{NAME}, first batch", flush=True)
    for work, size, suffix in (("1ms", "64k", ""), ("100us", "4k", "_100us_4k")):
        spec = bench.spec(work, size, _CORES, persistent=False)
        lanes = {name: Lane(name, spec, {"what": "start"}) for name in ("drapps", "torch")}
        answers = bench.rounds(f"first_batch_{work}_{size}", lanes)
        times = [[each["first_batch_s"] for each in answers[name]] for name in lanes]
        bench.result.wanted[f"first_batch{suffix}"] = 1.0
        bench.add(f"first_batch{suffix}", [b / a for a, b in zip(*times, strict=True)])


def _epoch_gap(bench: Bench) -> None:
    print(f"{NAME}, gap between epochs", flush=True)
    lanes = {}
    for suffix, persistent in (("", True), ("_default", False)):
        spec = bench.spec("1ms", "64k", _CORES, persistent=persistent)
        spec["samples"] = spec["samples"] // _EPOCHS // BATCH * BATCH
        for name, loader in (("epoch_gap", "drapps"), ("stock_epoch_gap", "torch")):
            lanes[f"{name}{suffix}"] = Lane(loader, spec, {"what": "epochs", "count": _EPOCHS})
    for name, answers in bench.rounds("epoch_gap", lanes).items():
        bench.add(name, [_gap(each) for each in answers])


def _gap(answer: Answer) -> float:
    return float(statistics.median(answer["epoch_gaps_s"]) / statistics.fmean(answer["gaps_s"]))


def _delay(bench: Bench) -> None:
    print(f"{NAME}, delay of a thread beside the loader", flush=True)

    def lane(loader: str, work: str, beside: str) -> Lane:
        ask = {"what": "delay", "seconds": bench.seconds, "beside": beside}
        return Lane(loader, bench.spec(work, "64k", _CORES), ask)

    lanes = {
        "idle": lane("drapps", "1ms", "nothing"),
        "spinners": lane("drapps", "1ms", "spinners"),
        "drapps": lane("drapps", "1ms", "loader"),
        "drapps_100us": lane("drapps", "100us", "loader"),
        "stock": lane("torch", "1ms", "loader"),
        "stock_100us": lane("torch", "100us", "loader"),
    }
    answers = bench.rounds("gil_delay", lanes)
    times = {name: [each["p99_s"] for each in mine] for name, mine in answers.items()}
    for name, over, under in (
        ("gil_delay", "drapps", "idle"),
        ("gil_delay_spinners", "drapps", "spinners"),
        ("gil_delay_100us", "drapps_100us", "idle"),
        ("stock_gil_delay", "stock", "idle"),
        ("stock_gil_delay_100us", "stock_100us", "idle"),
    ):
        bench.add(name, [a / b for a, b in zip(times[over], times[under], strict=True)])


def worker_numbers() -> list[int]:
    """The numbers of workers that the stock loader is tried with."""
    return sorted({max(1, _CORES // 2), _CORES, _CORES + (_CORES + 1) // 2, 2 * _CORES})


def _whole_turns(samples: float) -> int:
    """Batches of an epoch in which the stock loader's workers all make equally many."""
    turn = math.lcm(*worker_numbers())
    return max(1, round(samples / BATCH / turn)) * turn


def _started(stack: ExitStack, name: str, lane: Lane) -> Contestant:
    program = python(f"benchmarks.python_dataset.{lane.loader}")
    contestant = stack.enter_context(Contestant(name, program, lane.spec))
    if lane.first:
        contestant.ask(**lane.first)
    for _ in range(lane.warm):
        contestant.ask(**lane.ask)
    return contestant


def _asked(contestant: Contestant, lane: Lane) -> Answer:
    return contestant.ask(**lane.ask) | {"peak_bytes": contestant.peak_bytes()}


def _figures(answers: list[Answer]) -> dict[str, Any]:
    """What the rounds of a lane amount to."""
    peak = max(answer["peak_bytes"] for answer in answers)
    if "first_batch_s" in answers[0]:
        times = [answer["first_batch_s"] for answer in answers]
        return {"first_batch_s": statistics.median(times), "peak_bytes": peak}
    if "p99_s" in answers[0]:
        names = ("p50_s", "p99_s", "p999_s")
        return {name: statistics.median(each[name] for each in answers) for name in names}
    nice = sorted({each for answer in answers for each in answer.get("nice", ())})
    return {**report.figures(answers, {}, peak), **({"nice": nice} if nice else {})}
