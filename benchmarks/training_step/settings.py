"""How much of everything is measured, in a cut of five minutes and in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TaskSettings:
    """Of the training of a stand-in.

    Attributes:
        samples: of a run.
        evaluations: of the held-out quality in a run, at equal distances.
        held_out: samples that quality is measured on.
        batches: of the grid.
        rates: of the grid.
    """

    samples: int
    evaluations: int
    held_out: int
    batches: tuple[int, ...]
    rates: tuple[float, ...]


@dataclass(frozen=True)
class Settings:
    """Of a run of the scenario.

    Attributes:
        seeds: at most.
        tasks: of each stand-in.
        side: of the pictures of ResNet-50, in pixels.
        context: tokens of each text of GPT-2 small.
        pairs: of steps with and without `NoiseScale`.
        rank_rounds: how often one and two ranks are measured.
        cell_s: seconds of each cell of the goodput grid.
        micro_batches: of that grid, in shares of the tuned batch.
        accumulations: of that grid.
    """

    seeds: int
    tasks: Mapping[str, TaskSettings]
    side: int
    context: int
    pairs: int
    rank_rounds: int
    cell_s: float
    micro_batches: tuple[float, ...]
    accumulations: tuple[int, ...]


CUT = Settings(
    seeds=2,
    tasks={
        "image": TaskSettings(12_000, 8, 1_000, (64,), (0.05, 0.1)),
        "text": TaskSettings(1_600, 8, 200, (16,), (2e-3, 4e-3)),
    },
    side=64,
    context=32,
    pairs=12,
    rank_rounds=2,
    cell_s=0.3,
    micro_batches=(1.0,),
    accumulations=(1, 2),
)
FULL = Settings(
    seeds=100,
    tasks={
        "image": TaskSettings(120_000, 20, 5_000, (32, 64, 128), (0.025, 0.05, 0.1)),
        "text": TaskSettings(16_000, 20, 1_000, (8, 16, 32), (1e-3, 2e-3, 4e-3)),
    },
    side=160,
    context=256,
    pairs=60,
    rank_rounds=6,
    cell_s=2.0,
    micro_batches=(0.5, 1.0, 2.0),
    accumulations=(1, 2, 4),
)
