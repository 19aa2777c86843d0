"""What the steps of a training were made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from drapps.report.base import page
from drapps.train.noise import NoiseEstimate


@dataclass(frozen=True)
class StepReport:
    """What `Step.report` gives; it prints as a page.

    Attributes:
        steps: that were made.
        samples: that they have seen, over all ranks.
        accumulation: micro-batches of the next step.
        batches: pairs of a step and the micro-batches from there on.
        noise: what is known of the gradient's noise; None where nothing measures it.
        precision: that the forward pass computes in.
        why: where ``auto`` has chosen it, the reason.
        skipped: steps that came to nothing, because a gradient was not finite.
        scale: of the loss.
        rates: of the optimizer's groups, for the next step.
    """

    steps: int
    samples: float
    accumulation: int
    batches: list[list[int]]
    noise: NoiseEstimate | None
    precision: str
    why: str
    skipped: int
    scale: float
    rates: list[float]

    def __str__(self) -> str:
        return page(self._rows())

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "steps", f"{self.steps}, of {self.samples:,.0f} samples"
        changes = ", ".join(f"{number} from step {at}" for at, number in self.batches[-5:])
        yield "micro-batches", f"{self.accumulation} a step ({changes})"
        if self.noise is not None:
            yield "noise scale", _noise_text(self.noise)
        yield "precision", self.precision + (f": {self.why}" if self.why else "")
        if self.precision == "fp16":
            yield "loss scale", f"{self.scale:g}; {self.skipped} steps were skipped"
        yield "learning rate", ", ".join(f"{rate:.4g}" for rate in self.rates)


def _noise_text(noise: NoiseEstimate) -> str:
    if not noise.steps:
        return "nothing is measured: a step needs two micro-batches, or two ranks"
    if math.isnan(noise.scale):
        return f"not known after {noise.steps} steps: the noise hides the gradient"
    reach: Any = f"{noise.low:,.0f} to {noise.high:,.0f}" if math.isfinite(noise.high) else "open"
    return f"{noise.scale:,.0f} samples (90 %: {reach}), of {noise.steps} steps"
