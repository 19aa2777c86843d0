"""Models that are compiled already: torch's compiler chooses what it keeps, within a budget.

``torch._functorch.config.activation_memory_budget`` is the share of the activations that compiled
code keeps, of those that it would keep for speed alone; the others it recomputes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._functorch import config

from drapps.errors import PipelineError
from drapps.report.base import mib
from drapps.train.checkpointing.allocations import allocated_peak
from drapps.train.checkpointing.report import CheckpointReport
from drapps.train.checkpointing.search import DOES_NOT_FIT, MemoryLimitError
from drapps.train.checkpointing.steps import Step, now

BUDGETS = (0.75, 0.5, 0.25, 0.0)  # each compiles the model anew
REFINED = 2  # more of them, between the first that fits and the one before it
TIMED = 2  # steps, of which the fastest counts
EQUAL = 0.01  # peaks that differ by a smaller share are the same


class Budgeted:
    """Calls a compiled module with a budget, within which its first call compiles it."""

    def __init__(self, call: Callable[..., Any], budget: float) -> None:
        self.call = call
        self.budget = budget

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        with config.patch(activation_memory_budget=self.budget):
            return self.call(*args, **kwargs)


@dataclass(frozen=True)
class Tried:
    """A budget that was measured."""

    budget: float
    peak: int
    seconds: float


def compiled_in(model: nn.Module) -> list[nn.Module]:
    """What of a model is compiled: by ``torch.compile(module)``, or by ``module.compile()``."""
    return [each for each in model.modules() if _call_of(each)]


def is_budgeted(model: nn.Module) -> bool:
    """Whether a budget was put on some of it."""
    calls = ((each, _call_of(each)) for each in compiled_in(model))
    return any(isinstance(getattr(each, name), Budgeted) for each, name in calls)


def within_budget(
    modules: Sequence[nn.Module], step: Step, device: torch.device, limit: int
) -> CheckpointReport:
    """The largest budget, and so the fastest code, whose measured peak is within a limit.

    Args:
        modules: that are compiled.
        step: makes a step with them.
        device: where they are.
        limit: of the peak, in bytes.

    Raises:
        MemoryLimitError: no budget leaves the peak within it.
        PipelineError: no step fits into the memory of the GPU.
    """
    most = getattr(config, "activation_memory_budget", None)
    if most is None:
        return _unchanged("the model is compiled already, and this torch has no setting for it")
    plain = _measured(step, device, most)
    if plain.peak <= limit:
        return _unchanged(f"the plain step takes {mib(plain.peak)}, within the limit", plain)
    tried = [plain]
    best = _search(modules, step, device, limit, tried)
    peaks = [each.peak for each in tried]
    if min(peaks) == DOES_NOT_FIT:
        raise PipelineError(
            "the step does not fit into the memory of the GPU with any activation_memory_budget: "
            "give checkpoint() a smaller example"
        )
    if best is None and max(peaks) - min(peaks) <= EQUAL * plain.peak:
        return _unchanged(
            "the model is compiled already, and torch's activation_memory_budget makes no "
            "difference to its backend: checkpoint it first, and compile it then",
            plain,
        )
    if best is None:
        raise MemoryLimitError(
            f"no activation_memory_budget keeps the compiled step within memory={limit} bytes: the "
            f"smallest peak that was found is {min(peaks)} bytes ({mib(min(peaks))}); give more "
            "memory, or a smaller batch",
            limit,
            min(peaks),
        )
    fits = plain.peak != DOES_NOT_FIT
    return CheckpointReport(
        (),
        peak_bytes=plain.peak if fits else None,
        measured_peak_bytes=best.peak,
        step_seconds=plain.seconds if fits else None,
        plain_step_fits=fits,
        budget=best.budget,
        measured_step_seconds=best.seconds,
    ).undoing(_install(modules, best.budget))


def _search(
    modules: Sequence[nn.Module],
    step: Step,
    device: torch.device,
    limit: int,
    tried: list[Tried],
) -> Tried | None:
    """Peaks need not fall with the budget: what recomputes everything at once holds all of it."""

    def measured(budget: float) -> Tried:
        undo = _install(modules, budget)
        try:
            tried.append(_measured(step, device, budget))
        finally:
            undo()
        return tried[-1]

    high = tried[0].budget
    best = None
    for budget in (each for each in BUDGETS if each < high):
        trial = measured(budget)
        if trial.peak <= limit:
            best = trial
            break
        high = budget
    for _ in range(REFINED if best is not None else 0):
        assert best is not None
        trial = measured((best.budget + high) / 2)
        if trial.peak <= limit:
            best = trial
        else:
            high = trial.budget
    return best


def _measured(step: Step, device: torch.device, budget: float) -> Tried:
    """Compiles in a first step; peak and seconds are of later ones."""
    try:
        step()
        times = []
        for _ in range(TIMED):
            start = now(device)
            step()
            times.append(now(device) - start)
        return Tried(budget, allocated_peak(step, device), min(times))
    except torch.OutOfMemoryError:
        return Tried(budget, DOES_NOT_FIT, float("inf"))


def _call_of(module: nn.Module) -> str:
    """Under which name a module holds what is compiled; empty where nothing is."""
    if "_orig_mod" in module._modules:
        return "forward"
    return "_compiled_call_impl" if module._compiled_call_impl is not None else ""


def _install(modules: Sequence[nn.Module], budget: float) -> Callable[[], None]:
    """Puts a budget on modules, and forgets what was compiled, so that it takes effect.

    Returns:
        What takes it off again.
    """
    calls = [(each, _call_of(each)) for each in modules]
    changed = [(each, name, Budgeted(getattr(each, name), budget)) for each, name in calls]
    for module, name, budgeted in changed:
        setattr(module, name, budgeted)
    torch.compiler.reset()

    def undo() -> None:
        there = [each for each in changed if getattr(each[0], each[1]) is each[2]]
        for module, name, budgeted in there:
            setattr(module, name, budgeted.call)
        if there:
            torch.compiler.reset()

    return undo


def _unchanged(reason: str, plain: Tried | None = None) -> CheckpointReport:
    if plain is None:
        return CheckpointReport((), reason)
    peak = plain.peak
    return CheckpointReport((), reason, peak, measured_peak_bytes=peak, step_seconds=plain.seconds)
