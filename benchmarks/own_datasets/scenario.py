"""Scenario own-datasets; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, Contestant, ContestantError, python, rate
from benchmarks.own_datasets import data
from benchmarks.own_datasets.data import TRANSFORMS

NAME = "own-datasets"
ROUNDS = 5
BATCH = 64
WANTED = {"stock": (3.5, 4.5), "off": (2.5, 3.5)}  # in the first epoch, in later ones
_CORES = len(os.sched_getaffinity(0))
_COMPARED = 5  # batches
_PER_CORE_AND_S = 500  # samples, about what the stock loader makes


def measure(count: int, seconds: float) -> report.Result:
    """Measures each case in `count` rounds, about `seconds` for the slowest contestant in each."""
    result = report.Result(NAME)
    samples = round(_PER_CORE_AND_S * _CORES * seconds / BATCH) * BATCH
    for sampling, paths in data.ensure().items():
        data.warm(paths)
        folder = report.BUILD / NAME
        folder.mkdir(parents=True, exist_ok=True)
        listing = folder / f"{sampling}.txt"
        chosen = (paths * (samples // len(paths) + 1))[:samples]
        listing.write_text("".join(f"{path}\n" for path in chosen))
        short = folder / f"{sampling}-short.txt"
        short.write_text("".join(f"{path}\n" for path in chosen[: _COMPARED * BATCH]))
        for transforms in TRANSFORMS:
            spec = {"transforms": transforms, "batch": BATCH, "workers": _CORES, "seed": 5}
            print(f"{NAME}, {transforms}, {sampling}", flush=True)
            _compare({**spec, "listing": str(short)})
            _case(f"{transforms}_{sampling}", {**spec, "listing": str(listing)}, count, result)
    return result


def _case(case: str, spec: dict[str, Any], count: int, result: report.Result) -> None:
    probe = _probe(spec)
    best = max(probe, key=lambda each: probe[each])
    with ExitStack() as stack:
        contestants = {
            "drapps": stack.enter_context(_start("drapps", spec)),
            "off": stack.enter_context(_start("drapps", _off(spec))),
            "stock": stack.enter_context(_start("torch", {**spec, "workers": best})),
        }
        first = {name: each.ask(what="epochs") for name, each in contestants.items()}
        answers: dict[str, list[Answer]] = {name: [] for name in contestants}
        for number in range(count):
            names = list(contestants)
            at = number % len(names)
            for name in [*names[at:], *names[:at]]:
                answers[name].append(contestants[name].ask(what="epochs"))
        figures = {
            name: report.figures(answers[name], {}, each.peak_bytes())
            for name, each in contestants.items()
        }
    figures["stock"] |= {"num_workers": best, "probe_samples_per_s": probe}
    for name, answer in first.items():
        figures[name]["first_epoch_samples_per_s"] = rate(answer)
    result.figures[case] = figures
    result.rounds[case] = {
        name: [{key: value for key, value in one.items() if key != "gaps_s"} for one in each]
        for name, each in answers.items()
    }
    for other, wanted in WANTED.items():
        ratios = {
            f"{case}_first_over_{other}": report.ratios([first["drapps"]], [first[other]]),
            f"{case}_over_{other}": report.ratios(answers["drapps"], answers[other]),
        }
        for (name, each), bar in zip(ratios.items(), wanted, strict=True):
            result.add_ratio(name, each)
            result.wanted[name] = bar
            print(f"  {name} {result.ratios[name]:.2f}", flush=True)


def _probe(spec: dict[str, Any]) -> dict[int, float]:
    """The stock loader's samples/s at several numbers of workers."""
    rates = {}
    for workers in sorted({max(1, _CORES // 2), _CORES, _CORES + (_CORES + 1) // 2, 2 * _CORES}):
        with _start("torch", {**spec, "workers": workers}) as stock:
            stock.ask(what="epochs")
            rates[workers] = rate(stock.ask(what="epochs"))
    found = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
    print(f"  stock loader's samples/s by num_workers: {found}", flush=True)
    return rates


def _compare(spec: dict[str, Any]) -> None:
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
        with _start(module, {**spec, "options": options}) as contestant:
            sums.append(contestant.ask(what="outputs")["crc32"])
    if not sums[0] == sums[1] == sums[2]:
        raise ContestantError("the outputs differ")


def _off(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "options": {"accelerate": False}}


def _start(module: str, spec: dict[str, Any]) -> Contestant:
    return Contestant(module, python(f"benchmarks.own_datasets.{module}"), spec)
