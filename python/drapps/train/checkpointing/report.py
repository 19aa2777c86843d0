"""What `checkpoint` has done, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drapps.report.base import Report, mib


@dataclass(frozen=True, eq=False, repr=False)
class BlockReport(Report):
    """A block of the model.

    Attributes:
        name: in the model.
        action: what is done with its activations: ``keep``, ``recompute`` or ``offload``.
        segment: number of the segment that it is recomputed with; None where it is not.
        activation_bytes: that its forward pass saves for the backward pass; None where nothing was
            measured.
        forward_seconds: of its forward pass; None where nothing was measured.
        reason: why it cannot be recomputed; empty where it can.
    """

    name: str
    action: str
    segment: int | None = None
    activation_bytes: int | None = None
    forward_seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class CheckpointReport(Report):
    """What is kept and what is recomputed; undone by `undo()`, or at the end of a ``with`` block.

    Peaks are the most bytes of tensors that one step adds to what lived before it: activations and
    what operations hold for a while, without parameters, their gradients and the optimizer's state.
    None stands where nothing was measured.

    Attributes:
        blocks: of the model, in the order in which they run.
        reason: why nothing was changed; empty where something was.
        peak_bytes: of the plain step, measured.
        predicted_peak_bytes: of the step as it is placed.
        measured_peak_bytes: of the step as it is placed, measured.
        step_seconds: of the plain step, measured.
        predicted_step_seconds: of the step as it is placed: the plain step, and the forward passes
            that run again.
        plain_step_fits: whether the plain step fits into memory; where it does not, its peak and
            its seconds are predicted, or None of a model that is compiled.
        budget: of a model that is compiled: the share of the activations that its code keeps, of
            those that it keeps by itself; None of others.
        measured_step_seconds: of such a model, with the budget.
    """

    blocks: tuple[BlockReport, ...]
    reason: str = ""
    peak_bytes: int | None = None
    predicted_peak_bytes: int | None = None
    measured_peak_bytes: int | None = None
    step_seconds: float | None = None
    predicted_step_seconds: float | None = None
    plain_step_fits: bool = True
    budget: float | None = None
    measured_step_seconds: float | None = None

    _undo = staticmethod(lambda: None)

    def undoing(self, undo: Callable[[], None]) -> CheckpointReport:
        """This report, whose `undo()` calls that."""
        object.__setattr__(self, "_undo", undo)
        return self

    def undo(self) -> None:
        """The model runs as before. Nothing happens where it does already."""
        self._undo()

    def __enter__(self) -> CheckpointReport:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        width = max([len(each.name) for each in self.blocks] + [len("block")])
        lines = []
        if self.blocks:
            lines = [f"{'block':<{width}}  {'action':<12}  {'activations':>12}  {'forward':>10}"]
        if self.budget is not None:
            lines.append(f"budget {self.budget:g} of the activations that compiled code keeps")
        for each in self.blocks:
            action = each.action + ("" if each.segment is None else f" {each.segment}")
            size = "" if each.activation_bytes is None else mib(each.activation_bytes)
            time = "" if each.forward_seconds is None else f"{each.forward_seconds * 1e3:.2f} ms"
            line = f"{each.name:<{width}}  {action:<12}  {size:>12}  {time:>10}"
            lines.append(line.rstrip() + (f"  kept: {each.reason}" if each.reason else ""))
        if self.peak_bytes is not None:
            lines.append(f"peak   {mib(self.peak_bytes)} plain{self._placed_peak()}")
        if self.step_seconds is not None and self.predicted_step_seconds is not None:
            after = f"{self.predicted_step_seconds * 1e3:.1f} ms predicted"
            lines.append(f"step   {self.step_seconds * 1e3:.1f} ms plain, {after}")
        elif self.step_seconds is not None and self.measured_step_seconds is not None:
            after = f"{self.measured_step_seconds * 1e3:.1f} ms measured"
            lines.append(f"step   {self.step_seconds * 1e3:.1f} ms plain, {after}")
        if self.reason:
            lines.append(f"unchanged: {self.reason}")
        return "\n".join(lines)

    def _placed_peak(self) -> str:
        if self.measured_peak_bytes is None:
            return ""
        measured = mib(self.measured_peak_bytes)
        if self.predicted_peak_bytes is None:
            return f", {measured} measured"
        return f", {mib(self.predicted_peak_bytes)} predicted, {measured} measured"
