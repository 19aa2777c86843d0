"""What the optimizer of a training takes: the time of its step, and the memory of its state."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch

from drapps.train.checkpointing.steps import device_of, now

_STEPS = 3  # that are timed, of which the fastest counts
_COPIED = 64 << 20  # bytes of parameters, with which it is timed


@dataclass(frozen=True)
class OptimizerCost:
    """What an optimizer takes.

    Attributes:
        seconds: of its step.
        state: bytes that it keeps.
    """

    seconds: float
    state: float


def optimizer_cost(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> OptimizerCost | None:
    """Timed on copies of some parameters, with another optimizer of its kind.

    Returns:
        None where none can be made.
    """
    trained = [each for each in model.parameters() if each.requires_grad]
    total = sum(each.nbytes for each in trained)
    copies: list[torch.nn.Parameter] = []
    copied = 0
    for each in sorted(trained, key=lambda one: one.nbytes):
        if copied and copied + each.nbytes > _COPIED:
            break
        copies.append(torch.nn.Parameter(torch.zeros_like(each)))
        copied += each.nbytes
    device = device_of(model)
    try:
        twin: Any = type(optimizer)(copies, **_arguments(optimizer))
        for one in copies:
            one.grad = torch.zeros_like(one)
        twin.step()
        times = []
        for _ in range(_STEPS):
            begun = now(device)
            twin.step()
            times.append(now(device) - begun)
        kept = [each for state in twin.state.values() for each in state.values()]
        state = sum(each.nbytes for each in kept if isinstance(each, torch.Tensor))
    except Exception:  # whatever the class of a user raises
        return None
    return OptimizerCost(min(times) * total / copied, state * total / copied)


def _arguments(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """With which another one of its kind is made; some have defaults that are no arguments."""
    taken = inspect.signature(type(optimizer)).parameters
    every = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
    return {name: each for name, each in optimizer.defaults.items() if every or name in taken}
