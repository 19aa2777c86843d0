"""Scenario own-datasets; scenario.md says what it measures and why so."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, rate
from benchmarks.image_peers import environment
from benchmarks.journal import begin, code
from benchmarks.own_datasets import data
from benchmarks.own_datasets.cases import CASES, PINS, Case

NAME = "own-datasets"
ROUNDS = 5
BATCH = 64
_HERE = Path(__file__).resolve().parent
_CORES = len(os.sched_getaffinity(0))
_COMPARED = 5  # batches
_PER_CORE_AND_S = 500  # samples, about what the stock loader makes
_NO_CALLS = {"NO_ALBUMENTATIONS_UPDATE": "1", "HF_HUB_OFFLINE": "1"}  # for newer versions


def measure(
    count: int, seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures each case in `count` rounds, about `seconds` for the slowest contestant in each.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out cases that are not among it; a kind of dataset has all of its own.

    Raises:
        ContestantError: no case is left, or the outputs of one differ.
    """
    sources = sorted([*_HERE.glob("*.py"), *(ROOT / "demo").glob("*.py")])
    asked = {
        "rounds": count,
        "seconds": seconds,
        "cores": _CORES,
        "code": code(sources),
        "pins": hashlib.sha256(environment.pins(PINS).encode()).hexdigest(),
    }
    os.environ.update(_NO_CALLS)
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    result = report.Result(NAME)
    names = [name for name in _names() if not only or {name, name.partition("_")[0]} & set(only)]
    if not names:
        raise ContestantError(f"no case {', '.join(only)}; there are {', '.join(_names())}")
    samples = round(_PER_CORE_AND_S * _CORES * seconds / BATCH) * BATCH
    for name in names:
        record = journal.get(name)
        if record is None:
            print(f"{NAME}, {name}", flush=True)
            record = _measured(name, samples, count)
            journal.keep(name, result=record)
        _add(result, name, record)
    return result


def _names() -> Iterator[str]:
    for kind, case in CASES.items():
        yield from (f"{kind}_{each}" for each in ("444", "420")) if case.of_pictures else (kind,)


def _measured(name: str, samples: int, count: int) -> dict[str, Any]:
    """Figures, rounds and the ratios of each; where it cannot run, why."""
    kind, _, sampling = name.partition("_")
    case = CASES[kind]
    try:
        interpreter = environment.ensure(case.environment, PINS)
    except environment.CannotRunError as error:
        return {"figures": {"drapps": {"cannot_run": str(error)}}, "rounds": {}, "ratios": {}}
    every = data.ensure()
    paths = every[sampling or "444"]
    data.warm(paths)
    chosen = (paths * (samples // len(paths) + 1))[:samples]
    bench = _Bench(
        interpreter,
        {
            "kind": kind,
            "batch": BATCH,
            "workers": _CORES,
            "seed": 5,
            "listing": _listing(name, chosen),
        },
    )
    bench.compare({"listing": _listing(f"{name}-short", chosen[: _COMPARED * BATCH])})
    return bench.rounds(case, max(1, round(count * case.rounds)))


def _listing(name: str, paths: list[str]) -> str:
    folder = report.BUILD / NAME
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.txt"
    file.write_text("".join(f"{path}\n" for path in paths))
    return str(file)


class _Bench:
    """What measures one case, with what all its contestants are told."""

    def __init__(self, interpreter: str, spec: dict[str, Any]) -> None:
        self._interpreter, self._spec = interpreter, spec

    def _start(self, module: str, **more: Any) -> Contestant:
        command = [self._interpreter, "-m", f"benchmarks.own_datasets.{module}"]
        return Contestant(module, command, {**self._spec, **more}, package=ROOT / "python")

    def compare(self, short: dict[str, Any]) -> None:
        """Makes sure that all contestants give the same tensors, with the stock loader's numbers.

        Raises:
            ContestantError: they do not.
        """
        sums = []
        for module, options in (
            ("torch", {}),
            ("drapps", {"torch_order": True}),
            ("drapps", {"torch_order": True, "accelerate": False}),
        ):
            with self._start(module, compared=True, **short, options=options) as contestant:
                sums.append(contestant.ask(what="outputs")["crc32"])
        if not sums[0] == sums[1] == sums[2]:
            raise ContestantError(f"the outputs of {self._spec['kind']} differ")

    def _probe(self) -> dict[str, float]:
        """The stock loader's samples/s at several numbers of workers."""
        rates = {}
        for workers in sorted(
            {max(1, _CORES // 2), _CORES, _CORES + (_CORES + 1) // 2, 2 * _CORES}
        ):
            with self._start("torch", workers=workers) as stock:
                stock.ask(what="epochs")
                rates[str(workers)] = rate(stock.ask(what="epochs"))
        speeds = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
        print(f"  stock loader's samples/s by num_workers: {speeds}", flush=True)
        return rates

    def rounds(self, case: Case, count: int) -> dict[str, Any]:
        """Measures all in turn: a first epoch of each, then `count` rounds."""
        makers = {"drapps": lambda: self._start("drapps")}
        makers["off"] = lambda: self._start("drapps", options={"accelerate": False})
        about: dict[str, Any] = {}
        if case.over_stock is not None:
            probe = self._probe()
            best = max(probe, key=lambda each: probe[each])
            about = {"num_workers": int(best), "probe_samples_per_s": probe}
            makers["stock"] = lambda: self._start("torch", workers=int(best))
        with ExitStack() as stack:
            contestants = {name: stack.enter_context(make()) for name, make in makers.items()}
            first = {name: each.ask(what="epochs") for name, each in contestants.items()}
            answers: dict[str, list[Answer]] = {name: [] for name in contestants}
            for number in range(count):
                names = list(contestants)
                at = number % len(names)
                for name in [*names[at:], *names[:at]]:
                    answers[name].append(contestants[name].ask(what="epochs"))
            figures = {
                name: report.figures(answers[name], {}, each.peak_bytes())
                | {"first_epoch_samples_per_s": rate(first[name])}
                for name, each in contestants.items()
            }
        if case.over_stock is not None:
            figures["stock"] |= about
        ratios = {}
        for other in (name for name in ("stock", "off") if name in contestants):
            ratios[f"first_over_{other}"] = report.ratios([first["drapps"]], [first[other]])
            ratios[f"over_{other}"] = report.ratios(answers["drapps"], answers[other])
        rounds = {
            name: [{key: value for key, value in one.items() if key != "gaps_s"} for one in each]
            for name, each in answers.items()
        }
        return {"figures": figures, "rounds": rounds, "ratios": ratios}


def _add(result: report.Result, name: str, record: dict[str, Any]) -> None:
    """Adds what was measured of a case, and what is wanted of it."""
    result.figures[name], result.rounds[name] = record["figures"], record["rounds"]
    case = CASES[name.partition("_")[0]]
    wanted = {"stock": case.over_stock or (None, None), "off": case.over_off}
    for ratio, values in record["ratios"].items():
        full = f"{name}_{ratio}"
        result.add_ratio(full, values)
        bar = wanted[ratio.rpartition("_")[2]][0 if ratio.startswith("first") else 1]
        if bar is not None:
            result.wanted[full] = bar
        print(f"  {full} {result.ratios[full]:.2f}", flush=True)
