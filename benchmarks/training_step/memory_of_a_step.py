"""The most memory that a training takes in a process of its own, all tensors counted."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from benchmarks.training_step import models
from drapps import train

_MARK = "the step that is measured"
_TIMED = 2  # steps
_NO_LIMIT = 1 << 60

Step = Callable[[], None]


class Peak:
    """Takes the peak of a step.

    Attributes:
        bytes: of all tensors that lived in it at once.
    """

    bytes = 0
    _marked = False

    @contextmanager
    def watching(self, device: torch.device) -> Iterator[None]:
        """Everything within counts, from the first parameter on."""
        if device.type == "cuda":
            yield
            return
        cpu = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=cpu, profile_memory=True) as profiler:
            yield
        if not self._marked:
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            profiler.export_chrome_trace(str(file))
            self.bytes = peak_within(json.loads(file.read_text())["traceEvents"])

    @contextmanager
    def of_step(self, device: torch.device) -> Iterator[None]:
        """The step that is measured, within `watching`."""
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            yield
            self.bytes = torch.cuda.max_memory_allocated(device)
            return
        self._marked = True
        with torch.profiler.record_function(_MARK):
            yield


def peak_within(events: list[dict[str, Any]]) -> int:
    """The most bytes that were allocated at once within the mark, by torch's profiler."""
    mark = next(each for each in events if each.get("name") == _MARK and "dur" in each)
    begin, end = mark["ts"], mark["ts"] + mark["dur"]
    memory = [
        (each["ts"], each["args"]["Total Allocated"], each["args"]["Bytes"])
        for each in events
        if each.get("name") == "[memory]"
    ]
    within = [(total, size) for ts, total, size in memory if begin <= ts <= end]
    return max(max(total, total - size) for total, size in within)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Builds a model, and makes steps: plain, or within the limit that the job has.

    Returns:
        `peak_bytes`; `step_bytes`, what a plain step adds, as `checkpoint` measures it; `seconds`
        of a step and `plain_seconds` of one without checkpointing, of the same process; `cannot`,
        where the limit is too low.
    """
    device, peak = torch.device(job["device"]), Peak()
    with peak.watching(device):
        torch.manual_seed(1)
        model, optimizer, loss = _BUILDERS[job["model"]](job, device)
        report = None
        if job["limit"] is not None:
            try:
                report = train.checkpoint(model, loss, memory=job["limit"])
            except train.MemoryLimitError as error:
                return {"cannot": str(error), "smallest_bytes": error.smallest_bytes}
        step = _step_of(optimizer, loss)
        step()
        with peak.of_step(device):
            step()
    if report is None:
        seconds = _seconds(step, device)
        measured = train.checkpoint(model, loss, memory=_NO_LIMIT)
        return {"peak_bytes": peak.bytes, "step_bytes": measured.peak_bytes, "seconds": seconds}
    actions = [each.action for each in report.blocks]
    placed = _seconds(step, device)
    report.undo()
    return {
        "peak_bytes": peak.bytes,
        "seconds": placed,
        "plain_seconds": _seconds(step, device),
        "recomputed": sum(each != "keep" for each in actions),
        "blocks": len(actions),
    }


def _resnet(job: dict[str, Any], device: torch.device) -> tuple[Any, Any, Any]:
    model = models.resnet50().to(device)
    images = torch.randn(job["batch"], 3, job["side"], job["side"], device=device)
    labels = torch.randint(1000, (job["batch"],), device=device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    return model, optimizer, lambda: F.cross_entropy(model(images), labels)


def _gpt2(job: dict[str, Any], device: torch.device) -> tuple[Any, Any, Any]:
    model = models.gpt2_small().to(device)
    tokens = torch.randint(1000, (job["batch"], job["context"]), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    return model, optimizer, lambda: model(input_ids=tokens, labels=tokens).loss


_BUILDERS = {"resnet50": _resnet, "gpt2": _gpt2}


def _step_of(optimizer: torch.optim.Optimizer, loss: Callable[[], torch.Tensor]) -> Step:
    def step() -> None:
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _seconds(step: Step, device: torch.device) -> float:
    times = []
    for _ in range(_TIMED):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        began = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - began)
    return min(times)
