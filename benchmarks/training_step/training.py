"""One training: the clock runs while it trains, and stands while its quality is measured."""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.training_step.arms import ARMS, Arm
from benchmarks.training_step.tasks import Batch, Task, load
from drapps import train

WARMUP = 0.05  # of a run's samples
MOST = 8  # micro-batches of a step
_FIRST, _EVERY = 10, 20  # measured steps before the batch may change, steps between changes
_CHECKED = 3  # batches that a precision is checked with
_WARM_STEPS = 3  # that count for nothing

Work = Callable[[Batch], None]


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Trains, as a job says; see `train_task`."""
    return train_task(load(job.pop("task")), ARMS[job.pop("arm")], **job)


def train_task(
    task: Task,
    arm: Arm,
    *,
    seed: int,
    batch: int,
    rate: float,
    samples: int,
    evaluations: int,
    held_out: int,
    workers: int,
    precision: str,
    device: str,
) -> dict[str, Any]:
    """Trains a stand-in once.

    Returns:
        `curve`, of seconds, samples and quality at each evaluation; `seconds`, `samples` and
        `steps`; `shares`, the seconds in which a batch was waited for, and of a plain loop the
        others; `batches` and `scale`, what became of the batch, and the noise scale at the end,
        where an arm has them.
    """
    where = torch.device(device)
    torch.manual_seed(seed)
    model = task.model().to(where)
    optimizer = task.optimizer(model, rate)
    schedule = train.WarmupCosine(optimizer, total=samples, warmup=WARMUP * samples, quantum=batch)
    batches = _batches(_loader(task, arm, batch, workers))
    _warm(task, model, next(batches), where)
    shares = {"wait": 0.0}
    step = None if arm.plain else _step(task, arm, model, optimizer, schedule, batch, precision)
    if step is None:
        work = _plain(task, model, optimizer, schedule, shares)
    else:
        work = _stepped(task, step)
    seen, steps, seconds = 0, 0, 0.0
    curve: list[list[float]] = []
    began = _now(where)
    while seen < samples:
        asked = time.perf_counter()
        given = [each.to(where, non_blocking=True) for each in next(batches)]
        shares["wait"] += time.perf_counter() - asked
        work(given)
        seen, steps = seen + len(given[0]), steps + 1
        if seen >= samples * (len(curve) + 1) / evaluations:
            seconds += _now(where) - began
            curve.append([seconds, seen, task.quality(model, held_out, where)])
            began = _now(where)
    answer = {"curve": curve, "seconds": seconds, "samples": seen, "steps": steps, "shares": shares}
    if step is not None:
        answer["steps"] = step.steps
        if step.noise is not None:
            answer["batches"] = [list(each) for each in step.batch.history]
            scale = step.noise.estimate.scale
            answer["scale"] = None if math.isnan(scale) else scale
    return answer


def chosen(job: dict[str, Any]) -> dict[str, str]:
    """The precision in which steps are fastest here, of those that come to what fp32 does."""
    task, device = load(job["task"]), torch.device(job["device"])
    model = task.model().to(device)
    loader = torch.utils.data.DataLoader(task.dataset, job["batch"])
    batches = list(itertools.islice(loader, _CHECKED))
    precision = train.checked_precision(model, batches, task.loss_of)
    return {"kind": precision.kind, "why": precision.why}


def _loader(task: Task, arm: Arm, batch: int, workers: int) -> Any:
    if arm.loader == "drapps":
        from drapps.torch import DataLoader
    else:
        from torch.utils.data import DataLoader  # type: ignore[assignment]
    return DataLoader(
        task.dataset,
        batch_size=batch,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )


def _batches(loader: Any) -> Iterator[Batch]:
    """Epoch after epoch."""
    while True:
        yield from loader


def _warm(task: Task, model: torch.nn.Module, batch: Batch, device: torch.device) -> None:
    """Steps of a copy, for what is made when it is first used."""
    twin = copy.deepcopy(model)
    given = [each.to(device) for each in batch]
    for _ in range(_WARM_STEPS):
        task.loss_of(twin, given).backward()
    task.quality(twin, len(given[0]), device)


def _step(
    task: Task,
    arm: Arm,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: train.WarmupCosine,
    batch: int,
    precision: str,
) -> train.Step:
    return train.Step(
        model,
        optimizer,
        batch=train.BatchSchedule(most=MOST, warmup=_FIRST, every=_EVERY) if arm.batch else 1,
        precision=precision if arm.precision else "fp32",
        learning_rate=schedule,
        scaling=task.scaling if arm.scaling else "none",
        reference=batch,
    )


def _plain(
    task: Task,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: train.WarmupCosine,
    shares: dict[str, float],
) -> Work:
    shares |= {"forward and backward": 0.0, "optimizer": 0.0}

    def work(batch: Batch) -> None:
        began = time.perf_counter()
        task.loss_of(model, batch).backward()
        computed = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step(len(batch[0]))
        shares["forward and backward"] += computed - began
        shares["optimizer"] += time.perf_counter() - computed

    return work


def _stepped(task: Task, step: train.Step) -> Work:
    def work(batch: Batch) -> None:
        with step:
            loss = task.loss_of(step.model, batch)
        step.backward(loss, samples=len(batch[0]))

    return work


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
