"""Part one, as it runs in its own process: train on one feed, measure everything about it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from demo import feeds, meter, network

Emit = Callable[[dict[str, Any]], None]

_PEAK_RATE = 0.1


class Trainer:
    """A network with its optimiser; one call is one training step."""

    def __init__(self, classes: int, steps: int) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.network = network.make(classes, self.device)
        self._optimiser = torch.optim.SGD(
            self.network.parameters(), _PEAK_RATE, momentum=0.9, weight_decay=5e-4, nesterov=True
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimiser, _PEAK_RATE, total_steps=steps
        )
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def _autocast(self) -> AbstractContextManager[Any]:
        cuda = self.device.type == "cuda"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=cuda)

    def _mark(self) -> torch.cuda.Event | None:
        if self.device.type != "cuda":
            return None
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def _moved(self, images: Tensor) -> Tensor:
        on_device = images.to(self.device, non_blocking=True)
        return on_device.contiguous(memory_format=torch.channels_last)

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """Trains on one batch: images (N, 3, H, W) float32, labels (N,) int64. Returns the loss."""
        begin = self._mark()
        with self._autocast():
            scores = self.network(self._moved(images))
            loss = nn.functional.cross_entropy(scores, labels.to(self.device, non_blocking=True))
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        self._schedule.step()
        end = self._mark()
        if begin is not None and end is not None:
            self._events.append((begin, end))
        return loss.detach()

    def device_seconds(self) -> float | None:
        """Time that the GPU spent on the steps since the last call; None on a CPU."""
        if self.device.type != "cuda":
            return None
        torch.cuda.synchronize()
        total: float = sum(begin.elapsed_time(end) for begin, end in self._events) / 1e3
        self._events.clear()
        return total

    @torch.no_grad()
    def accuracy(self, loader: Any) -> float:
        """Share of the loader's pictures whose class is recognised."""
        self.network.eval()
        right = count = 0
        for images, labels in loader:
            with self._autocast():
                classes = self.network(self._moved(images)).argmax(1).cpu()
            right += int((classes == labels).sum())
            count += len(labels)
        self.network.train()
        return right / count


def run(spec: dict[str, Any], emit: Emit) -> None:
    """Trains for `spec["epochs"]` epochs; emits `step`, `epoch` and, once, `lifted` events."""
    torch.manual_seed(spec["seed"])
    root = Path(spec["root"])
    dataset = feeds.training_set(root)
    loader = feeds.loader(spec["feed"], dataset, spec["workers"], train=True)
    heldout = feeds.loader(spec["feed"], feeds.heldout_set(root), spec["workers"], train=False)
    trainer = Trainer(len(dataset.classes), spec["epochs"] * len(loader))
    emit({"event": "ready", "device": _device_name(trainer.device)})
    for epoch in range(spec["epochs"]):
        figures = _epoch(trainer, loader, epoch, spec["epochs"], emit)
        emit({"event": "epoch", **figures, "accuracy": trainer.accuracy(heldout)})
    if spec["feed"] != "stock":
        lifted = loader.lifted()
        emit({"event": "lifted", "native": bool(lifted), "report": str(lifted)})


def _epoch(
    trainer: Trainer, loader: Any, epoch: int, epochs: int, emit: Emit
) -> dict[str, float | int | None]:
    """One epoch. What the step waited is all time inside `iter` and `next`, the last included."""
    cpu = meter.cpu_seconds(os.getpid())
    begin = last_emit = time.perf_counter()
    waited, samples = 0.0, 0
    losses: list[Tensor] = []
    iterator: Any = None
    while True:
        asked = time.perf_counter()
        if iterator is None:
            iterator = iter(loader)
        batch = next(iterator, None)
        now = time.perf_counter()
        waited += now - asked
        if batch is None:
            break
        losses.append(trainer.step(*batch))
        samples += len(batch[1])
        if now - last_emit > 0.1:
            last_emit, done = now, epoch * len(loader) + len(losses)
            rate = samples / (now - begin)
            note = f"epoch {epoch + 1}/{epochs}  {rate:5.0f} samples/s"
            emit({"event": "step", "done": done, "total": epochs * len(loader), "note": note})
    busy = trainer.device_seconds()
    return {
        "seconds": time.perf_counter() - begin,
        "waited": waited,
        "samples": samples,
        "cpu_seconds": meter.cpu_seconds(os.getpid()) - cpu,
        "device_seconds": busy,
        "loss": float(torch.stack(losses).mean()),
    }


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
