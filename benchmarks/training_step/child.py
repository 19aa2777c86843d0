"""A process that answers jobs: trainings, steps that are timed, steps whose memory is measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from benchmarks import feed
from benchmarks.training_step import memory_of_a_step, noise_cost, plan_grid, training

JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "train": training.run,
    "precision": training.chosen,
    "memory": memory_of_a_step.run,
    "noise cost": noise_cost.run,
    "goodput": plan_grid.run,
}


def begin(_spec: dict[str, Any]) -> feed.Answering:
    """It is ready."""
    return {}, lambda what, **job: JOBS[what](job)


if __name__ == "__main__":
    # Torch advises against more workers than cores; the probe finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    feed.converse(begin)
