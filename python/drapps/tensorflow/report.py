"""What became of a ``tf.data`` pipeline: lifted or not, what of it, and why."""

from __future__ import annotations

from dataclasses import dataclass

from drapps.report.base import Report


class NotLifted(Exception):  # noqa: N818 - a verdict, not an error
    """Why something stays with TensorFlow: a sentence that can follow "because"."""


@dataclass(frozen=True, eq=False, repr=False)
class LiftReport(Report):
    """Whether the native path runs; true where it does.

    Attributes:
        native: the native path runs; otherwise the dataset is the user's own.
        reasons: why not, one sentence each; empty where `native`.
        source: what the samples come from; empty where not `native`.
        operations: what became native, in order.
        order: of the samples.
        notes: what else differs from TensorFlow's own pipeline.
    """

    native: bool
    reasons: tuple[str, ...] = ()
    source: str = ""
    operations: tuple[str, ...] = ()
    order: str = ""
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.native

    def __str__(self) -> str:
        if self.native:
            lines = [f"lifted: {self.source}"]
            lines += [f"  native: {operation}" for operation in self.operations]
            lines.append(f"  order: {self.order}")
        else:
            lines = ["not lifted: TensorFlow's own pipeline runs"]
            lines += [f"  because {reason}" for reason in self.reasons]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])
