"""Scenario image-kernels; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import native, report
from benchmarks.contestant import Answer, Contestant, rate, rounds
from benchmarks.image_cpu import data
from benchmarks.image_cpu.scenario import WARM_S, describe, drapps, kernel_cpu_share
from benchmarks.image_kernels.compare import compare

NAME = "image-kernels"
CHECKED = 256
WARM = 64
STAGES = 256
THREADS = (1, 2, 4, 8, 16)
SCALING_ROUNDS = 3

# The least that the yardstick's time over a contestant's should be.
WANTED = {
    "444": {"sequential": 1.8, "index": 2.6, "coefficients": 7.0},
    "420": {"sequential": 1.7, "index": 2.2, "coefficients": 6.0},
}
# The same at both samplings on cores with AVX-512 but without VBMI, and of that level on others.
WANTED_AVX512 = {"sequential": 2.0, "index": 2.65, "coefficients": 5.5}
AVX2_SHARE = 0.7
LOWER = ("avx512", "avx2")
OVER_FULL = 1.1
LINEAR = 0.9
KERNEL_CPU_SHARE = 0.9


def measure(count: int, seconds: float) -> report.Result:
    """Measures both chroma samplings in `count` rounds, `seconds` for each contestant in each."""
    program = native.build("image_kernels")
    result = report.Result(NAME)
    for sampling, photos in data.ensure().items():
        print(f"{NAME}, {sampling[0]}:{sampling[1]}:{sampling[2]}", flush=True)
        spec = describe(photos)
        with Contestant("kernels", [program], spec) as kernels:
            compare(spec, kernels.ask(check=CHECKED))
            pictures = affordable(kernels, seconds)
            _time(sampling, kernels, count, pictures, result)
            _scale(sampling, kernels, min(count, SCALING_ROUNDS), pictures, result)
        _share(sampling, spec, count, seconds, result)
    return result


def affordable(kernels: Contestant, seconds: float) -> int:
    """How many pictures all contestants together make in `seconds` for each."""
    warm: dict[str, Answer] = kernels.ask(round=0, pictures=WARM)
    each = sum(answer["seconds"] for answer in warm.values()) / WARM
    return max(WARM, int(seconds * len(warm) / each))


def _time(
    sampling: str, kernels: Contestant, count: int, pictures: int, result: report.Result
) -> None:
    """The ratios to the yardstick, the figures, and where the time goes."""
    answers: dict[str, list[Answer]] = {}
    stages: list[Answer] = []
    for number in range(count):
        for name, answer in kernels.ask(round=number, pictures=pictures).items():
            answers.setdefault(name, []).append(answer)
        stages.append(kernels.ask(stages=STAGES))
        times = ", ".join(f"{n} {each[-1]['cpu_us_per_image']:.0f}" for n, each in answers.items())
        print(f"  round {number + 1} of {count}: {times} us", flush=True)
    result.rounds[sampling] = {**answers, "stages": stages}

    described = kernels.ask(describe=True)
    best = described["level"]
    figures: dict[str, dict[str, Any]] = {}
    for name, each in answers.items():
        figures[name] = {
            **report.figures(each, {}, 0),
            "peak_bytes": None,  # they share a process
            "cpu_us_per_image": statistics.median(a["cpu_us_per_image"] for a in each),
            "image_bytes": described[
                "coefficient_bytes" if name.endswith("coefficients") else "file_bytes"
            ],
            "level": next((lower for lower in LOWER if name.startswith(f"{lower}_")), best),
        }
        if name in stages[0]:
            figures[name]["stages_us"] = {
                stage: statistics.median(one[name][stage] for one in stages)
                for stage in stages[0][name]
            }
        if name in described:
            figures[name]["known"] = described[name]
    result.figures[sampling] = figures

    for name, each in answers.items():
        if name == "full":
            over_full = f"yardstick_over_full_{sampling}"
            result.ratios[over_full] = _ratio(each, answers["yardstick"])
            result.wanted[over_full] = OVER_FULL
        elif name != "yardstick":
            result.ratios[f"kernel_{name}_{sampling}"] = _ratio(answers["yardstick"], each)
    for name, wanted in WANTED[sampling].items():
        without_vbmi = WANTED_AVX512[name]
        result.wanted[f"kernel_{name}_{sampling}"] = without_vbmi if best == "avx512" else wanted
        result.wanted[f"kernel_avx512_{name}_{sampling}"] = without_vbmi
        result.wanted[f"kernel_avx2_{name}_{sampling}"] = round(AVX2_SHARE * wanted, 2)


def _ratio(over: Iterable[Answer], under: Iterable[Answer]) -> float:
    """The median over the rounds of one contestant's time over another's, for the same pictures."""
    pairs = zip(over, under, strict=True)
    return float(statistics.median(one["cpu_s"] / other["cpu_s"] for one, other in pairs))


def _scale(
    sampling: str, kernels: Contestant, count: int, pictures: int, result: report.Result
) -> None:
    """Samples/s of several threads over as many times those of one."""
    cores = os.sched_getaffinity(0)
    physical = _physical(cores)
    threads = [each for each in THREADS if each <= len(cores)]
    names = ["yardstick", *(n for n in WANTED[sampling] if n in result.figures[sampling])]
    answers: dict[str, list[Answer]] = {f"{n}_{t}_threads": [] for t in threads for n in names}
    for _ in range(count):
        for number in threads:
            for name in names:
                answer = kernels.ask(scale=name, threads=number, pictures=pictures, passes=number)
                answers[f"{name}_{number}_threads"].append(answer)
    result.rounds[sampling] |= answers
    for name in names:
        one = answers[f"{name}_1_threads"]
        result.figures[sampling][name]["samples_per_s_by_threads"] = {
            number: statistics.median(map(rate, answers[f"{name}_{number}_threads"]))
            for number in threads
        }
        for number in threads[1:]:
            ratio = f"scaling_{name}_{number}_{sampling}"
            result.ratios[ratio] = report.ratio(answers[f"{name}_{number}_threads"], one) / number
            if number <= physical and name != "yardstick":
                result.wanted[ratio] = LINEAR


def _physical(cores: Iterable[int]) -> int:
    """Cores that share nothing but caches."""
    system = Path("/sys/devices/system/cpu")
    lists = (system / f"cpu{core}/topology/thread_siblings_list" for core in cores)
    return len({each.read_text() for each in lists})


def _share(
    sampling: str, spec: dict[str, Any], count: int, seconds: float, result: report.Result
) -> None:
    """How much of the whole loader's CPU time is spent in kernels, as image-cpu measures it."""
    with drapps(spec, "first") as loader:
        answers: Sequence[Answer] = rounds([loader], count, WARM_S, seconds)[loader.name]
    result.rounds[sampling]["loader"] = [
        {key: value for key, value in answer.items() if key != "gaps_s"} for answer in answers
    ]
    result.ratios[f"kernel_cpu_share_{sampling}"] = kernel_cpu_share(answers)
    result.wanted[f"kernel_cpu_share_{sampling}"] = KERNEL_CPU_SHARE
