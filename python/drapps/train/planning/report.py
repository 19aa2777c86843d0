"""What `plan` has found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report, mib, page
from drapps.train.precision import Kind
from drapps.train.step import Step

_SHOWN = 6  # alternatives


@dataclass(frozen=True, eq=False, repr=False)
class PlannedStep(Report):
    """A step as it could be made, with what is predicted of it.

    Attributes:
        micro_batch: samples of a micro-batch, of each rank: the loader's batch.
        accumulation: micro-batches of a step.
        samples: of a step, over all ranks.
        precision: ``fp32``, ``bf16`` or ``fp16``.
        recomputed: how much of the memory that recomputing can save has to be saved, 0 to 1.
        step_seconds: with what a step waits for the loader.
        samples_per_second: over all ranks.
        efficiency: what a sample is worth, of one in a step of `reference` samples; NaN where the
            noise scale is not known.
        goodput: samples a second, times the efficiency.
        peak_bytes: of parameters, gradients, the optimizer's state and a step, on each rank.
    """

    micro_batch: int
    accumulation: int
    samples: int
    precision: Kind
    recomputed: float
    step_seconds: float
    samples_per_second: float
    efficiency: float
    goodput: float
    peak_bytes: float

    def row(self) -> list[str]:
        """For a table, see `HEAD`."""
        return [
            f"{self.micro_batch} x {self.accumulation}",
            self.precision,
            "all kept" if not self.recomputed else f"{self.recomputed:.0%} recomputed",
            f"{self.step_seconds * 1e3:,.1f} ms",
            f"{self.samples_per_second:,.0f}/s",
            "not known" if math.isnan(self.efficiency) else f"{self.efficiency:.2f}",
            "not known" if math.isnan(self.goodput) else f"{self.goodput:,.0f}/s",
            mib(self.peak_bytes),
        ]


HEAD = ["batch", "precision", "activations", "step", "samples", "worth", "goodput", "memory"]


@dataclass(frozen=True, eq=False, repr=False)
class TrainingPlan(Report):
    """The step that was chosen, and what each alternative would give; it prints as a table.

    Attributes:
        chosen: the best.
        today: the step of the loader's batch, in fp32 with all activations kept; None where it does
            not fit.
        alternatives: all others that fit, the best first.
        binds: the resource that limits the chosen one: ``loader``, ``compute``, ``memory`` or
            ``noise``.
        gains: by resource, how many times the goodput there would be were it no limit; for
            ``compute`` were it twice as fast.
        noise: the noise scale that was counted with, in samples; NaN where it is not known.
        loader_rate: samples a second that the loader makes for each rank when nothing waits for
            them.
        notes: what a reader should know of it.
    """

    chosen: PlannedStep
    today: PlannedStep | None
    alternatives: tuple[PlannedStep, ...]
    binds: str
    gains: dict[str, float]
    noise: float
    loader_rate: float
    notes: tuple[str, ...] = ()

    _apply = staticmethod(lambda _: None)
    _again = staticmethod(lambda _noise, _rate: None)

    def doing(
        self,
        apply: Callable[[dict[str, Any]], Step],
        again: Callable[[float | None, float | None], TrainingPlan],
    ) -> TrainingPlan:
        """This plan, carried out and made again by these."""
        object.__setattr__(self, "_apply", apply)
        object.__setattr__(self, "_again", again)
        return self

    def step(self, **options: Any) -> Step:
        """Carries it out: sets the loader's batch, places checkpoints, and gives the `Step`.

        Args:
            options: of `Step`; ``batch`` and ``precision`` are the plan's where they are absent.

        Raises:
            PipelineError: the loader's batch cannot be set; the message says to what it should be.
            MemoryLimitError: no checkpoints keep the step within what was predicted.
        """
        outcome: Any = self._apply(options)
        step: Step = outcome
        return step

    def replanned(self, noise: float | None = None, rate: float | None = None) -> TrainingPlan:
        """Another plan from the same measurements, where either has moved by a factor of two.

        Args:
            noise: the noise scale now, such as ``step.noise.estimate.scale``.
            rate: samples a second that the loader makes now for each rank.

        Returns:
            The other plan, or this one where neither has.
        """
        moved = _moved(self.noise, noise) or _moved(self.loader_rate, rate)
        if not moved:
            return self
        outcome: Any = self._again(noise, rate)
        plan: TrainingPlan = outcome
        return plan

    def __str__(self) -> str:
        others = [each for each in self.alternatives if each is not self.today][:_SHOWN]
        rows = [["", *HEAD], ["chosen", *self.chosen.row()]]
        if self.today is not None and self.today is not self.chosen:
            rows.append(["today", *self.today.row()])
        rows += [["", *each.row()] for each in others]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        table = [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*table, "", page(self._details())])

    def _details(self) -> Iterator[tuple[str, str]]:
        yield "binds", self.binds
        freed = ", ".join(f"{name} {gain:.2f}" for name, gain in self.gains.items())
        yield "goodput", f"times as much without the limit: {freed} (compute: twice as fast)"
        known = f"{self.noise:,.0f} samples" if not math.isnan(self.noise) else "not known"
        yield "noise scale", known
        timed = math.isfinite(self.loader_rate)
        yield "loader", f"{self.loader_rate:,.0f} samples/s" if timed else "not timed"
        for note in self.notes:
            yield "note", note


def _moved(before: float, now: float | None) -> bool:
    if now is None or math.isnan(now):
        return False
    if math.isnan(before) or math.isinf(before):
        return math.isfinite(now)
    return not before / 2 < now < before * 2
