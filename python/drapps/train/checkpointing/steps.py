"""Steps that are made to measure, and leave the model as it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from drapps.errors import PipelineError
from drapps.train.checkpointing.memory import tensors_in

Step = Callable[[], object]


def step_of(model: nn.Module, example: Any) -> Step:
    """What makes one forward and one backward pass.

    Args:
        model: that is trained.
        example: makes a step, or gives a loss, when it is called; else what the model is given: a
            tuple of arguments, a dictionary of arguments by name, or the only one.

    Returns:
        The step. It raises PipelineError where it has changed a parameter, as an optimizer does.
    """
    call: Callable[[], object]
    if callable(example) and not isinstance(example, (torch.Tensor, Mapping)):
        call = example
    elif isinstance(example, Mapping):
        call = lambda: _loss(model(**example))  # noqa: E731
    else:
        args = example if isinstance(example, tuple) else (example,)
        call = lambda: _loss(model(*args))  # noqa: E731

    def step() -> None:
        versions = [each._version for each in model.parameters()]
        _backward(call())
        if versions != [each._version for each in model.parameters()]:
            raise PipelineError(
                "the step has changed parameters of the model: give checkpoint() a step without "
                "the optimizer's, for it is made several times"
            )

    return step


def _backward(loss: object) -> None:
    if isinstance(loss, torch.Tensor) and loss.requires_grad and loss.numel() == 1:
        loss.backward()  # type: ignore[no-untyped-call]


def _loss(output: Any) -> torch.Tensor | None:
    loss = output.get("loss") if isinstance(output, Mapping) else None
    if isinstance(loss, torch.Tensor):
        return loss
    sums = [each.float().sum() for each in tensors_in(output) if each.requires_grad]
    return torch.stack(sums).sum() if sums else None


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Gradients, buffers and random states are afterwards what they are now.

    Within, every parameter that is trained has a gradient of zeros, as in the middle of an
    accumulation, so that steps do not differ in that.
    """
    parameters = list(model.parameters())
    grads = [each.grad for each in parameters]
    buffers = [(each, each.detach().clone()) for each in model.buffers()]
    gpus = sorted({each.device.index for each in parameters if each.device.type == "cuda"})
    with torch.random.fork_rng(devices=gpus):
        try:
            for each in parameters:
                each.grad = torch.zeros_like(each) if each.requires_grad else None
            yield
        finally:
            for each, grad in zip(parameters, grads, strict=True):
                each.grad = grad
            with torch.no_grad():
                for buffer, copy in buffers:
                    buffer.copy_(copy)


def device_of(model: nn.Module) -> torch.device:
    """Where the model is, by its first parameter."""
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def now(device: torch.device) -> float:
    """Seconds of a clock, when all that was begun is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def copy_rate(device: torch.device, size: int = 1 << 26) -> float:
    """Bytes per second from a GPU to pinned memory of the host."""
    there = torch.empty(size, dtype=torch.uint8, device=device)
    here = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    here.copy_(there)
    begun = now(device)
    here.copy_(there)
    return size / (now(device) - begun)
