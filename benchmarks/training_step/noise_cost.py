"""What measuring the noise scale costs of a step, in pairs of steps of two like trainings."""

from __future__ import annotations

import copy
import time
from typing import Any

import torch

from benchmarks.training_step.bench import Bench
from benchmarks.training_step.tasks import Batch, Task, load
from drapps import train

WANTED = 2.0  # per cent of a step
LEAST_S = 0.06  # of a step: 50 ms, and room for steps that come out shorter
_MICRO_BATCHES = 2  # of a step
_WARM = 3  # pairs


def measure(bench: Bench) -> None:
    """Adds the cost in per cent for each stand-in's model."""
    for task in bench.settings.tasks:
        answer = bench.ask(
            "noise cost", task, what="noise cost", task=task, pairs=bench.settings.pairs
        )
        name = bench.name(f"noise_scale_cost_percent_{task}")
        costs = [100 * (noise / plain - 1) for plain, noise in answer["pairs"]]
        bench.result.add_ratio(name, costs)
        bench.result.limits[name] = WANTED
        bench.result.figures[bench.name(f"noise_{task}")] = {
            "step": {"batch": answer["batch"], "step_s": min(each[0] for each in answer["pairs"])}
        }


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Times pairs of steps without and with it, each first in turn.

    Returns:
        `batch`, of a micro-batch that makes a step long enough, and `pairs` of seconds.
    """
    task, device = load(job["task"]), torch.device(job["device"])
    torch.manual_seed(1)
    model = task.model().to(device)
    twins = [copy.deepcopy(model) for _ in range(2)]
    steps = [
        train.Step(twin, task.optimizer(twin, 1e-3), batch=_MICRO_BATCHES, noise=noise)
        for twin, noise in zip(twins, (False, True), strict=True)
    ]
    size = 16
    _seconds(task, steps[0], _batch(task, size, device))  # what is made when it is first used
    while _seconds(task, steps[0], batch := _batch(task, size, device)) < LEAST_S:
        size *= 2
    pairs = []
    for number in range(_WARM + job["pairs"]):
        times = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            times[which] = _seconds(task, steps[which], batch)
        pairs.append(times)
    return {"batch": size, "pairs": pairs[_WARM:]}


def _batch(task: Task, size: int, device: torch.device) -> Batch:
    """The first samples."""
    loader = torch.utils.data.DataLoader(task.dataset, size)
    return [each.to(device) for each in next(iter(loader))]


def _seconds(task: Task, step: train.Step, batch: Batch) -> float:
    if batch[0].is_cuda:
        torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(_MICRO_BATCHES):
        with step:
            loss = task.loss_of(step.model, batch)
        step.backward(loss, samples=len(batch[0]))
    if batch[0].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began
