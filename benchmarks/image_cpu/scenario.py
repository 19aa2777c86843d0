"""Scenario image-cpu; scenario.md says what it measures and why so."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import native, report
from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, python, rate, rounds
from benchmarks.image_cpu import data
from benchmarks.image_cpu.epochs import STAGES

NAME = "image-cpu"
WARM_S = 1.0
PROBE_S = 2.0
STARTS = 3
WANTED = {"stock": 3.0, "yardstick": 0.9, "kernel_cpu_share": 0.9}


def measure(count: int, seconds: float) -> report.Result:
    """Measures both chroma samplings in `count` rounds, `seconds` for each contestant in each."""
    program = native.build("yardstick")
    result = report.Result(NAME)
    for sampling, photos in data.ensure().items():
        print(f"{NAME}, {sampling[0]}:{sampling[1]}:{sampling[2]}", flush=True)
        _measure(sampling, describe(photos), program, count, seconds, result)
    return result


def describe(photos: data.Data) -> dict[str, Any]:
    """What all contestants are told."""
    pillow = int(metadata.version("pillow").split(".")[0])
    return {
        "root": str(photos.folder),
        "files": str(photos.files),
        "rows": photos.samples,
        "starts": STARTS,
        "batch": 64,
        "crop": 224,
        "seed": 4,
        "pass_order": "pillow13" if pillow >= 13 else "horizontal_first",
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
    }


def _measure(
    sampling: str,
    spec: dict[str, Any],
    program: Path,
    count: int,
    seconds: float,
    result: report.Result,
) -> None:
    with ExitStack() as stack:
        yardstick = stack.enter_context(_yardstick(program, spec))
        _compare(spec, yardstick)
        probe = _probe(spec)
        workers = max(probe, key=lambda each: probe[each])
        stages = [f"drapps_{stage}" for stage in STAGES]
        contestants = [
            *(stack.enter_context(drapps(spec, stage)) for stage in STAGES),
            stack.enter_context(_stock(spec, workers)),
            yardstick,
        ]
        answers = rounds(contestants, count, WARM_S, seconds)
        figures = {
            each.name: report.figures(answers[each.name], each.started, each.peak_bytes())
            for each in contestants
        }
    figures["stock"] |= {"num_workers": workers, "probe_samples_per_s": probe}
    result.figures[sampling] = figures
    result.rounds[sampling] = {
        name: [{key: value for key, value in answer.items() if key != "gaps_s"} for answer in each]
        for name, each in answers.items()
    }
    for stage, ours in zip(STAGES, stages, strict=True):
        ratios = {
            "stock": report.ratio(answers[ours], answers["stock"]),
            "yardstick": report.ratio(answers[ours], answers["yardstick"]),
            "yardstick_cpu": figures["yardstick"]["cpu_s_per_sample"]
            / figures[ours]["cpu_s_per_sample"],
            "kernel_cpu_share": kernel_cpu_share(answers[ours]),
        }
        result.ratios |= {f"{name}_{stage}_{sampling}": value for name, value in ratios.items()}
        result.wanted |= {f"{name}_{stage}_{sampling}": value for name, value in WANTED.items()}


def drapps(spec: dict[str, Any], stage: str, package: Path | None = None) -> Contestant:
    """DRAPPS at one stage of what it knows; of another build's `package` where that is given."""
    program = python("benchmarks.image_cpu.drapps")
    return Contestant(f"drapps_{stage}", program, {**spec, "stage": stage}, package=package)


def _yardstick(program: Path, spec: dict[str, Any]) -> Contestant:
    threads = len(os.sched_getaffinity(0))
    return Contestant("yardstick", [program], {**spec, "threads": threads})


def _stock(spec: dict[str, Any], workers: int) -> Contestant:
    options = {**spec, "workers": workers}
    return Contestant("stock", python("benchmarks.image_cpu.torch"), options)


def _compare(spec: dict[str, Any], yardstick: Contestant) -> None:
    """Raises ContestantError where outputs differ."""
    done = subprocess.run(
        [*python("benchmarks.image_cpu.compare"), json.dumps(spec)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise ContestantError("the outputs differ")
    sums = json.loads(done.stdout)
    if yardstick.ask(check=len(sums))["crc32"] != sums:
        raise ContestantError("the outputs differ: the yardstick's are not those of DRAPPS")
    print(f"  {len(sums)} batches compared: Pillow, DRAPPS and the yardstick agree", flush=True)


def _probe(spec: dict[str, Any]) -> dict[int, float]:
    """The stock loader's samples/s at several numbers of workers."""
    cores = len(os.sched_getaffinity(0))
    rates = {}
    for workers in sorted({max(1, cores // 2), cores, cores + (cores + 1) // 2, 2 * cores}):
        with _stock({**spec, "starts": 1}, workers) as stock:
            answer: Answer = stock.ask(warm_s=WARM_S, measure_s=PROBE_S)
        rates[workers] = rate(answer)
    speeds = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
    print(f"  stock loader's samples/s by num_workers: {speeds}", flush=True)
    return rates


def kernel_cpu_share(answers: Sequence[Answer]) -> float:
    """CPU time inside kernels over that of all threads but the consumer's, of all rounds."""
    kernel = sum(answer["kernel_cpu_s"] for answer in answers)
    others = sum(answer["cpu_s"] - answer["consumer_cpu_s"] for answer in answers)
    return float(kernel / others)
