"""A learning rate that warms up and falls, counted in samples, and follows the batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler

from drapps.errors import PipelineError
from drapps.train.noise import NoiseEstimate, adascale_gain

Scaling = Literal["none", "linear", "sqrt", "adascale", "adascale-adam"]
SCALINGS = ("none", "linear", "sqrt", "adascale", "adascale-adam")


def scaled(
    rule: Scaling, batch: float, reference: float, estimate: NoiseEstimate | None = None
) -> float:
    """By what a learning rate that was tuned for `reference` samples a step is multiplied.

    ``linear`` is batch ÷ reference (Goyal et al., 2017), ``sqrt`` its root (for Adam: Malladi et
    al., 2022), ``adascale`` the gain of `adascale_gain`, ``adascale-adam`` the root of that, as
    AdaptDL has it.

    Raises:
        PipelineError: no such rule, or one that needs an estimate and has none.
    """
    if rule not in SCALINGS:
        raise PipelineError(f"scaling={rule!r} is none of {', '.join(SCALINGS)}")
    if rule == "none":
        return 1.0
    if rule in ("linear", "sqrt"):
        return batch / reference if rule == "linear" else math.sqrt(batch / reference)
    if estimate is None:
        raise PipelineError(f"scaling={rule!r} needs a noise scale")
    gain = adascale_gain(estimate, batch, reference)
    return gain if rule == "adascale" else math.sqrt(gain)


class WarmupCosine(LRScheduler):
    """A warm-up along a line, then half a cosine: of torch's kind, with `step` and ``state_dict``.

    Progress p is counted in whatever `warmup` and `total` are: samples, steps, or gain. Up to
    `warmup` w a rate is lr · min(1, (p + quantum) ÷ w); from there to `total` T it is
    least + (lr - least) · (1 + cos(π (p - w) ÷ (T - w))) ÷ 2, and `least` behind it. `factor`
    multiplies all of it, for the batch.
    Source: Loshchilov and Hutter, "SGDR", 2017, without restarts.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        total: float,
        warmup: float = 0,
        least: float = 0,
        quantum: float = 1,
    ) -> None:
        """Takes the optimizer's rates for the highest.

        Args:
            optimizer: whose learning rates are set.
            total: progress at the end.
            warmup: progress at which the rate is highest.
            least: rate at the end.
            quantum: progress of a step, which the very first rate counts with.

        Raises:
            PipelineError: numbers of which no schedule can be made.
        """
        if not 0 <= warmup <= total or total <= 0 or quantum <= 0:
            raise PipelineError(
                f"warmup={warmup!r}, total={total!r}, quantum={quantum!r} are no schedule: "
                "0 <= warmup <= total, and total and quantum above 0"
            )
        self.total, self.warmup, self.least, self.quantum = total, warmup, least, quantum
        self.progress = 0.0
        self.factor = 1.0
        self._pending = 0.0
        super().__init__(optimizer)

    def step(self, amount: float | None = None) -> None:
        """A step was made that moves progress by `amount`; by `quantum` where absent."""
        begun = hasattr(self, "_last_lr")
        self._pending = (self.quantum if amount is None else amount) if begun else 0.0
        super().step()

    def rate(self, base: float, progress: float) -> float:
        """Of a group whose highest rate is `base`, without the factor."""
        if progress < self.warmup:
            return base * min(1.0, (progress + self.quantum) / self.warmup)
        if progress >= self.total:
            return self.least
        done = (progress - self.warmup) / (self.total - self.warmup)
        return self.least + (base - self.least) * 0.5 * (1 + math.cos(math.pi * done))

    def get_lr(self) -> list[float | torch.Tensor]:
        """For torch: the rates after the step that is under way."""
        self.progress += self._pending
        self._pending = 0.0
        return self._rates()

    def follow(self, factor: float) -> None:
        """From the next step on every rate is so many times as high."""
        self.factor = factor
        rates = self._rates()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = rates

    def _rates(self) -> list[float | torch.Tensor]:
        return [self.factor * self.rate(float(base), self.progress) for base in self.base_lrs]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from there; the optimizer's rates are set."""
        super().load_state_dict(dict(state_dict))
        self.follow(self.factor)
