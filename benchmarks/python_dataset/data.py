"""The dataset of scenario python-dataset: Python work for each sample, and tensors of some size."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

import drapps

_ROWS = 64  # different samples: the time goes to the work and the transport, not to memory
_SLOW_IN, _SLOW_TIMES = 100, 100  # one sample in so many is so many times as slow


def spin(turns: int) -> int:
    """Keeps one core busy with Python for a time in proportion to `turns`.

    It makes no objects: all its numbers are among those that the interpreter keeps. Python's
    allocator takes up to twice as long where it finds its pools full, which depends on all that
    the process has done before: `for turn in range(turns): total += turn` took 325 to 425 us in 12
    processes of one loader and 335 to 534 us in 12 of the other.
    """
    state = 0
    for _ in itertools.repeat(None, turns):
        state = (state + 3) & 127
    return state


def turns_per_second() -> float:
    """How much of `spin` this machine does in a second of CPU time."""
    rates = []
    for _ in range(21):
        began = time.thread_time()
        spin(100_000)
        rates.append(100_000 / (time.thread_time() - began))
    return max(rates)  # whatever else runs makes it slower, nothing faster


class Worked(Dataset[Any]):
    """Samples ``(float32 tensor, seconds of CPU time that it took)``.

    Args:
        spec: ``samples``; ``turns`` of `spin` for each; ``floats`` of its tensor; ``slow``: what
            one sample in a hundred does a hundred times as long: ``no`` (none is slow), ``spin`` or
            ``sleep`` (as long as its `spin` would take, ``work_s`` each); ``nap_s``: what each
            sample sleeps besides, 0 where absent.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._samples, self._turns, self._slow = spec["samples"], spec["turns"], spec["slow"]
        self._sleep_s = spec["work_s"] * _SLOW_TIMES
        self._nap_s = spec.get("nap_s", 0.0)
        self._rows = torch.rand(_ROWS, spec["floats"])

    def __len__(self) -> int:
        return int(self._samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, float]:
        began = time.thread_time()
        slow = self._slow if index % _SLOW_IN == 0 else "no"
        if slow == "sleep":
            time.sleep(self._sleep_s)
        else:
            spin(self._turns * (_SLOW_TIMES if slow == "spin" else 1))
        if self._nap_s > 0:
            time.sleep(self._nap_s)
        return self._rows[index % _ROWS], time.thread_time() - began


class Saved(Dataset[Any]):
    """The same samples, from files that `torch.save` has written.

    Args:
        folder: of a file for each index.
        samples: how many.
    """

    def __init__(self, folder: str, samples: int) -> None:
        self._folder, self._samples = Path(folder), samples

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, index: int) -> Any:
        return torch.load(self._folder / f"{index}.pt")


def dataset_of(spec: dict[str, Any]) -> Any:
    """What a contestant loads from.

    Args:
        spec: that of `Worked`; ``folder``: of `Saved` in its place; ``cached``: bytes in which
            `drapps.cached` keeps the samples.
    """
    if "folder" in spec:
        return Saved(spec["folder"], spec["samples"])
    worked = Worked(spec)
    return drapps.cached(worked, budget=spec["cached"]) if "cached" in spec else worked
