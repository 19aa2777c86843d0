"""A dataset whose samples cost what a schedule says, in whichever process they are made."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from drapps.scenario.conditions import PythonCost

_ROWS = 64  # different samples: time goes to the work and the transport, not to memory
_TURNS = 200  # between looks at the clock, some microseconds


def spend(cpu: float) -> None:
    """Takes so many seconds of CPU time, of this thread.

    It makes no objects, so that it does not matter how full Python's allocator is.
    """
    end = time.thread_time() + cpu
    state = 0
    while time.thread_time() < end:
        for _ in itertools.repeat(None, _TURNS):
            state = (state + 3) & 127


class CostlyRows(Dataset[Any]):
    """Samples ``(float32 tensor, index)``.

    Args:
        samples: how many.
        floats: of each tensor.
        costs: from which time on, on the machine's monotonic clock, a sample costs what; the first
            holds before it, too.
    """

    def __init__(
        self, samples: int, floats: int, costs: Sequence[tuple[float, PythonCost]]
    ) -> None:
        self._samples = samples
        self._costs = tuple(costs)
        self._rows = torch.rand(_ROWS, floats, generator=torch.Generator().manual_seed(floats))

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        cost = self.cost_at(time.monotonic())
        if cost.cpu > 0:
            spend(cost.cpu)
        if cost.sleep > 0:
            time.sleep(cost.sleep)
        return self._rows[index % _ROWS], index

    def cost_at(self, now: float) -> PythonCost:
        """What a sample costs that begins at this time."""
        current = self._costs[0][1]
        for at, cost in self._costs:
            if at <= now:
                current = cost
        return current
