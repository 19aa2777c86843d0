"""The training step of a player."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from drapps.scenario.conditions import Consumer
from drapps.scenario.python_dataset import spend

_RATE = 0.01


class Step:
    """Takes a batch, and does with it what the scenario says.

    Attributes:
        cpu: seconds of CPU time that emulated steps have spent.
    """

    def __init__(self, classes: int) -> None:
        self.cpu = 0.0
        self._classes = classes
        self._now = Consumer()
        self._trained: Callable[[Any], None] | None = None

    def become(self, consumer: Consumer) -> None:
        """From now on steps are as `consumer` says."""
        self._now = consumer
        self._trained = small_cnn(self._classes) if consumer.model else None

    def __call__(self, batch: Any) -> None:
        """One step."""
        if self._trained is not None:
            self._trained(batch)
            return
        step = self._now.step
        if step <= 0:
            return
        end = time.monotonic() + step
        if self._now.cpu > 0:
            began = time.thread_time()
            spend(step * self._now.cpu)
            self.cpu += time.thread_time() - began
        left = end - time.monotonic()
        if left > 0:
            time.sleep(left)


def small_cnn(classes: int) -> Callable[[Any], None]:
    """A step that trains a network of four convolutions on the CPU, with torch's own threads."""
    torch.manual_seed(0)
    network = nn.Sequential(
        *_convolution(3, 16, 8, 8),
        *_convolution(16, 32, 3, 1),
        *_convolution(32, 64, 3, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, classes),
    ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.SGD(network.parameters(), _RATE)

    def step(batch: Any) -> None:
        images, labels = batch
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def _convolution(inputs: int, outputs: int, size: int, stride: int) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


class Validation:
    """A second loader that runs at once, on a thread, at the pace of the step.

    Attributes:
        samples: that it has given.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.samples = 0
        self._make = make
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def become(self, wanted: bool, pause: float) -> None:
        """From now on it runs, or does not, with pauses of so many seconds between batches.

        Raises:
            Exception: what it has ended with.
        """
        self._pause = pause
        if wanted and self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        elif not wanted and self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            loader = self._make()
            while not self._over.is_set():
                for batch in loader:
                    self.samples += len(batch[1])
                    del batch
                    if self._over.wait(self._pause):
                        return
        except BaseException as error:
            self._error = error
