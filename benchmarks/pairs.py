"""What two builds of DRAPPS are compared by: cases of the other scenarios, without their rivals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import native
from benchmarks.contestant import Answer, Contestant, python, rate
from benchmarks.image_cpu import data as photos
from benchmarks.image_cpu import scenario as image_cpu
from benchmarks.image_cpu.epochs import STAGES
from benchmarks.image_kernels import scenario as image_kernels
from benchmarks.journal import Journal
from benchmarks.python_dataset import scenario as python_dataset
from benchmarks.small_samples import data as fashion
from benchmarks.small_samples import scenario as small_samples

_CORES = len(os.sched_getaffinity(0))
_LIFE = 3  # rounds of the same processes in most cases


@dataclass(frozen=True)
class Case:
    """A contestant of one build, and what is asked of it.

    Attributes:
        name: scenario/case.
        start: starts it, given the build's checkout and the folder of its package.
        ask: the command of a round, by its number.
        speeds: of an answer: by name, the higher the better.
        warm: commands before the first round.
        life: so many rounds are of the same process.
    """

    name: str
    start: Callable[[Path, Path], Contestant]
    ask: Callable[[int], Mapping[str, Any]]
    speeds: Callable[[Answer], dict[str, float]]
    warm: Sequence[Mapping[str, Any]] = ()
    life: int = _LIFE


def cases(seconds: float, journal: Journal) -> Iterator[Case]:
    """All of them, about `seconds` for each measurement; `journal` keeps what they depend on."""
    for sampling, pictures in photos.ensure().items():
        spec = {**image_cpu.describe(pictures), "starts": 1}
        yield _kernels(sampling, spec, seconds, journal)
        for stage in STAGES:
            yield _photos(sampling, stage, spec, seconds)
    root = str(fashion.ensure())
    for batch in small_samples.BATCHES:
        yield _small(root, batch, seconds)
    bench = python_dataset.new_bench(1, seconds, journal)
    for work in ("100us", "1ms"):
        for size in python_dataset.FLOATS:
            yield _python(f"work_{work}_{size}", bench.spec(work, size, _CORES), life=1)
    yield _python("stragglers_cpu", bench.spec("1ms", "64k", _CORES, slow="spin"))
    slow = bench.spec("1ms", "64k", _CORES, slow="sleep")
    yield _python("stragglers_sleep", slow, warm=python_dataset.SLOW_WARM)


def _clock(seconds: float) -> Callable[[int], Mapping[str, Any]]:
    return lambda _number: {"warm_s": image_cpu.WARM_S, "measure_s": seconds}


def _by_rate(name: str) -> Callable[[Answer], dict[str, float]]:
    return lambda answer: {name: rate(answer)}


def _photos(sampling: str, stage: str, spec: dict[str, Any], seconds: float) -> Case:
    name = f"image-cpu/{stage}_{sampling}"
    return Case(
        name,
        lambda _root, package: image_cpu.drapps(spec, stage, package),
        _clock(seconds),
        _by_rate(name),
    )


def _kernels(sampling: str, spec: dict[str, Any], seconds: float, journal: Journal) -> Case:
    """Kernels by CPU time, all of which share a process."""
    name = f"image-kernels/{sampling}"

    def start(root: Path, _package: Path) -> Contestant:
        return Contestant("kernels", [native.build("image_kernels", root)], spec)

    def ask(number: int) -> Mapping[str, Any]:
        return {"round": number, "pictures": journal.get("pictures", sampling)}

    def speeds(answer: Answer) -> dict[str, float]:
        return {
            f"{name}/{each}": 1e6 / answer[each]["cpu_us_per_image"]
            for each in image_kernels.WANTED[sampling]
        }

    if journal.get("pictures", sampling) is None:
        with start(native.ROOT, native.ROOT) as kernels:
            pictures = image_kernels.affordable(kernels, seconds)
        journal.keep("pictures", sampling, result=pictures)
    return Case(name, start, ask, speeds)


def _small(root: str, batch: int, seconds: float) -> Case:
    name = f"small-samples/{batch}"
    spec = {"root": root, "starts": 1, "batch": batch, "seed": 4, "workers": 1}

    def start(_root: Path, package: Path) -> Contestant:
        return small_samples.start("drapps", "drapps", spec, package)

    return Case(name, start, _clock(seconds), _by_rate(name))


def _python(case: str, spec: dict[str, Any], warm: int = 1, life: int = _LIFE) -> Case:
    name = f"python-dataset/{case}"
    ask = {"what": "epochs", "count": 1}

    def start(_root: Path, package: Path) -> Contestant:
        program = python("benchmarks.python_dataset.drapps")
        return Contestant("drapps", program, spec, package=package)

    return Case(name, start, lambda _number: ask, _by_rate(name), [ask] * warm, life)
