"""Scenario gpu-transfers; scenario.md says what it measures and why so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError

NAME = "gpu-transfers"
WANTED = 0.95
BATCHES, ROWS, FLOATS = 50, 64, 150 << 10
_PINNED, _THERE = {"pin_memory": True}, {"device": "cuda"}
CASES = (
    ("lifted", True, _PINNED),
    ("processes", False, _PINNED),
    ("lifted_device", True, _THERE),
    ("processes_device", False, _THERE),
)
_WIDTH = 8192  # of the matrices that the training step multiplies
_SLOWER = 2.0  # times as long as the copies takes the training step


def measure(count: int, seconds: float) -> report.Result:
    """Measures each case in `count` rounds, over steps of about `seconds` in all.

    Raises:
        ContestantError: there is no CUDA device.
    """
    import torch

    if not torch.cuda.is_available():
        raise ContestantError(f"{NAME} needs a CUDA device, and torch sees none")
    result = report.Result(NAME)
    rows = torch.rand(BATCHES * ROWS, FLOATS)
    for case, lift, options in CASES:
        rounds = [_round(rows, lift, options, seconds) for _ in range(count)]
        result.rounds[case] = {"drapps": rounds}
        result.add_ratio(f"overlapped_{case}", [each["overlapped"] for each in rounds])
        result.wanted[f"overlapped_{case}"] = WANTED
    return result


def _round(rows: Any, lift: bool, options: dict[str, Any], seconds: float) -> dict[str, float]:
    """Seconds per step of the copies alone, of the training alone, and of both."""
    from torch.utils.data import TensorDataset

    from drapps.torch import DataLoader

    loader = DataLoader(TensorDataset(rows), ROWS, num_workers=2, lift=lift, **options)
    copy_s = _copy_s(rows[:ROWS].clone())
    step = _training(_SLOWER * copy_s)
    steps = max(10, int(seconds / (_SLOWER * copy_s)))
    alone_s = _per_step(step, (None for _ in range(steps)))
    batches = _endless(loader)
    for _ in range(BATCHES):  # the loader settles
        next(batches)
    both_s = _per_step(step, (next(batches) for _ in range(steps)))
    overlapped = 1 - max(0.0, both_s - alone_s) / copy_s
    return {"copy_s": copy_s, "alone_s": alone_s, "both_s": both_s, "overlapped": overlapped}


def _copy_s(batch: Any) -> float:
    """What a batch costs that is pinned and copied while nothing else runs."""
    import torch

    times = []
    for _ in range(10):
        torch.cuda.synchronize()
        began = time.perf_counter()
        batch.pin_memory().to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times)


def _training(step_s: float) -> Callable[[], None]:
    """Work for the device that takes about `step_s`; it is begun, and not waited for."""
    import torch

    left, right = (torch.rand(_WIDTH, _WIDTH, device="cuda") for _ in range(2))

    def multiply(times: int) -> None:
        for _ in range(times):
            torch.mm(left, right)

    multiply(3)
    torch.cuda.synchronize()
    began = time.perf_counter()
    multiply(10)
    torch.cuda.synchronize()
    times = max(1, round(step_s / ((time.perf_counter() - began) / 10)))
    return lambda: multiply(times)


def _endless(loader: Any) -> Iterator[Any]:
    while True:
        for (batch,) in loader:
            yield batch


def _per_step(step: Callable[[], None], batches: Iterator[Any]) -> float:
    """Seconds per step; meanwhile, a batch that is not there yet is copied on another stream."""
    import torch

    copies = torch.cuda.Stream()
    count = 0
    torch.cuda.synchronize()
    began = time.perf_counter()
    for batch in batches:
        step()
        if batch is not None and not batch.is_cuda:
            with torch.cuda.stream(copies):
                batch.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        count += 1
    return (time.perf_counter() - began) / count
