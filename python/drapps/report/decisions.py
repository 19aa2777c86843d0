"""The decision log: which knobs moved, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Report):
    """A knob that moved, a proposal that was held back, or a remark.

    Attributes:
        epoch: of the pass; of the one that began last where several live at once.
        time_s: seconds since the loader's first decision.
        knob: a knob's name, or ``weight <lane>``; None in a remark.
        before, proposed, applied: values of the knob; None in a remark.
        why: the reason of the policy, or the remark.
        held: why the guard did not apply all of it; None where it did.
        step_ms_before: mean milliseconds between two batches in the seconds before; or None.
        step_ms_after: the same in the seconds after; or None.
        processes: worker processes since; only in remarks about these, as all below.
        worker: the virtual worker that it is about.
        pid: of the process that has ended.
        cause: of its end.
    """

    epoch: int
    time_s: float
    knob: str | None
    before: int | None
    proposed: int | None
    applied: int | None
    why: str
    held: str | None
    step_ms_before: float | None
    step_ms_after: float | None
    processes: int | None = None
    worker: int | None = None
    pid: int | None = None
    cause: str | None = None

    @property
    def moved(self) -> bool:
        """Whether a knob has another value since."""
        return self.knob is not None and self.applied != self.before

    def __str__(self) -> str:
        what = f"{self.knob} {self.before} -> {self.applied}: " if self.moved else ""
        held = f" (held back: {self.held})" if self.held else ""
        return f"{self.time_s:.1f} s  {what}{self.why}{held}"


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Report):
    """What was decided in the life of a loader.

    Attributes:
        policy: who decides.
        status: ``running``, ``frozen`` or ``stopped``.
        stop_reason: why it is stopped; None where it is not.
        totals: how many ``decisions`` there were, ``moves``, proposals ``held`` back, and entries
            ``dropped`` from the list, which keeps 256.
        entries: oldest first.
        learning: what a policy with ``learn=True`` has learnt, and with what; None for others.
    """

    policy: str
    status: str
    stop_reason: str | None
    totals: Mapping[str, int]
    entries: Sequence[Decision]
    learning: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Decisions:
        """The log, as the core says it."""
        entries = [Decision.from_json(entry) for entry in facts["entries"]]
        return super().from_json({**facts, "entries": entries})

    @property
    def last_move(self) -> Decision | None:
        """The entry of the knob that moved last; None where none has."""
        return next((entry for entry in reversed(self.entries) if entry.moved), None)

    @property
    def summary(self) -> str:
        """Who decides, and how often it has, in a line."""
        state = f"{self.status}, {self.stop_reason}" if self.stop_reason else self.status
        counted = ("decisions", "moves", "held")
        return f"{self.policy}, {state}; " + ", ".join(f"{n}: {self.totals[n]}" for n in counted)

    @property
    def learnt(self) -> str:
        """What the policy has learnt, in a line; empty where it does not learn."""
        if self.learning is None:
            return ""
        facts = self.learning
        left_out = ", ".join(f"{count} {why}" for why, count in facts["left_out"].items() if count)
        parts = [
            f"learns: {facts['steps']} steps" + (f" ({left_out} left out)" if left_out else ""),
            ", ".join(f"{facts[name]} {name}" for name in ("updates", "renewals", "rollbacks")),
            f"{facts['core_share']:.2%} of a core",
        ]
        if facts["trouble"]:
            parts.append(facts["trouble"])
        return "; ".join(parts)

    def __str__(self) -> str:
        learnt = [self.learnt] if self.learnt else []
        return "\n".join([self.summary, *learnt, *map(str, self.entries)])
