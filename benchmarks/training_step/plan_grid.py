"""The goodput of every cell of a grid, by brute force, and of what a plan chooses without one.

Goodput is samples per second times Pollux' statistical efficiency: at a noise scale φ, a sample of
a step of B is worth (φ + B₀) ÷ (φ + B) of one of a step of B₀.
Source: Qiao et al., "Pollux", 2021.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from benchmarks.training_step.bench import Bench
from benchmarks.training_step.tasks import Batch, Task, load
from drapps import train
from drapps.train.planning.model import efficiency

CHECKPOINTS = ("none", "sqrt")
_PRECISIONS = ("fp32", "bf16")
_LEAST_STEPS = 3
_PLAN_BATCHES = 8
_TURNS = 6


@dataclass(frozen=True)
class Cell:
    """One way to make a step, and what came of it.

    Attributes:
        micro_batch: samples.
        accumulation: micro-batches of a step.
        precision: ``fp32`` or ``bf16``.
        checkpoints: ``none`` or ``sqrt``, the segments of `drapps.train.checkpoint`.
        samples_per_s: measured.
        efficiency: what a sample is worth.
        goodput: the product.
    """

    micro_batch: int
    accumulation: int
    precision: str
    checkpoints: str
    samples_per_s: float
    efficiency: float
    goodput: float

    @property
    def step(self) -> tuple[int, int, str, str]:
        """What it is."""
        return self.micro_batch, self.accumulation, self.precision, self.checkpoints

    @property
    def name(self) -> str:
        """For a table."""
        batch = f"{self.accumulation} x {self.micro_batch}"
        return f"{batch}, {self.precision}, checkpoints {self.checkpoints}"


def goodputs(
    task: Task,
    device: torch.device,
    *,
    noise_scale: float,
    reference: int,
    micro_batches: Sequence[int],
    accumulations: Sequence[int],
    seconds: float,
    precisions: Sequence[str] = _PRECISIONS,
    checkpoints: Sequence[str] = CHECKPOINTS,
) -> list[Cell]:
    """Measures every cell for some seconds.

    Args:
        task: what is trained.
        device: where.
        noise_scale: the same for all cells, in samples.
        reference: samples of a step whose samples are worth 1.
        micro_batches: of the grid.
        accumulations: of the grid.
        seconds: of a cell.
        precisions: of the grid.
        checkpoints: of the grid.
    """
    cells = []
    for micro, number, kind, placed in itertools.product(
        micro_batches, accumulations, precisions, checkpoints
    ):
        rate = _samples_per_s(task, device, (micro, number, kind, placed), seconds)
        worth = efficiency(noise_scale, micro * number, reference)
        cells.append(Cell(micro, number, kind, placed, rate, worth, rate * worth))
    return cells


def best(cells: Sequence[Cell]) -> Cell:
    """The one of the greatest goodput."""
    return max(cells, key=lambda cell: cell.goodput)


def planned(
    task: Task, device: torch.device, cells: Sequence[Cell], job: Mapping[str, Any]
) -> Cell:
    """What `drapps.train.plan` chooses within the range of the grid; its rate is its prediction."""
    torch.manual_seed(1)
    model = task.model().to(device)
    loader = torch.utils.data.DataLoader(task.dataset, job["reference"])
    batches = list(itertools.islice(loader, _PLAN_BATCHES))
    samples = [cell.micro_batch * cell.accumulation for cell in cells]
    plan = train.plan(
        model,
        batches,
        task.optimizer(model, 1e-4),
        loss=task.loss_of,
        noise=job["noise_scale"],
        reference=job["reference"],
        least=min(samples),
        most=max(samples),
        precision=_PRECISIONS,  # type: ignore[arg-type]
    )
    chosen = plan.chosen
    return Cell(
        chosen.micro_batch,
        chosen.accumulation,
        chosen.precision,
        "none",
        chosen.samples_per_second,
        chosen.efficiency,
        chosen.goodput,
    )


def run(job: dict[str, Any]) -> dict[str, Any]:
    """For `child`: the cells as dictionaries; what a plan chooses, and its share of the best one.

    The two are measured in turn, for what is best of many is so by luck, too.
    """
    task, device = load(job.pop("task")), torch.device(job.pop("device"))
    cells = goodputs(task, device, **job)
    chosen, grids = planned(task, device, cells, job), best(cells)
    pair, rates = (chosen, grids), [0.0, 0.0]
    for turn in range(2 * _TURNS):
        side = (turn + turn // 2) % 2  # one, the other, the other, the one
        rates[side] += _samples_per_s(task, device, pair[side].step, job["seconds"])
    share = rates[0] * chosen.efficiency / (rates[1] * grids.efficiency)
    answer = {"cells": [asdict(cell) for cell in cells], "planned": asdict(chosen)}
    return {**answer, "share": 1.0 if chosen.step == grids.step else share}


def measure(bench: Bench, task: str, reference: int, noise_scale: float) -> list[Cell]:
    """Adds the figures of a stand-in's grid around its tuned batch, and gives its cells."""
    settings = bench.settings
    answer = bench.ask(
        "goodput",
        task,
        reference,
        what="goodput",
        task=task,
        reference=reference,
        noise_scale=noise_scale,
        micro_batches=[max(1, int(share * reference)) for share in settings.micro_batches],
        accumulations=settings.accumulations,
        seconds=settings.cell_s,
    )
    cells = [Cell(**each) for each in answer["cells"]]
    bench.result.figures[bench.name(f"goodput_{task}")] = {
        cell.name: asdict(cell) for cell in cells
    }
    plain = next(
        cell
        for cell in cells
        if (cell.micro_batch * cell.accumulation, cell.precision, cell.checkpoints)
        == (reference, "fp32", "none")
    )
    figures = bench.result.figures[bench.name(f"goodput_{task}")]
    figures[f"planned: {Cell(**answer['planned']).name}"] = answer["planned"]
    bench.result.ratios[bench.name(f"plan_over_best_goodput_{task}")] = answer["share"]
    name = bench.name(f"best_goodput_over_baseline_{task}")
    bench.result.ratios[name] = best(cells).goodput / plain.goodput
    return cells


def _samples_per_s(
    task: Task, device: torch.device, cell: tuple[int, int, str, str], seconds: float
) -> float:
    micro, number, kind, placed = cell
    torch.manual_seed(1)
    model = task.model().to(device)
    loader = torch.utils.data.DataLoader(task.dataset, micro)
    batch: Batch = [each.to(device) for each in next(iter(loader))]
    step = train.Step(model, task.optimizer(model, 1e-4), batch=number, precision=kind)  # type: ignore[arg-type]
    if placed != "none":
        train.checkpoint(model, segments=placed)  # type: ignore[arg-type]

    def once() -> None:
        for _ in range(number):
            with step:
                loss = task.loss_of(model, batch)
            step.backward(loss, samples=len(batch[0]))

    once()
    steps, began = 0, _now(device)
    while steps < _LEAST_STEPS or _now(device) - began < seconds:
        once()
        steps += 1
    return steps * number * micro / (_now(device) - began)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
