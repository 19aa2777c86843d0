"""The gradient noise scale: how many samples a step can use before more of them help little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.train import ranks
from drapps.train.averages import PairAverage
from drapps.train.sharded import refuse_sharded

_NORMAL_90 = 1.645  # standard errors of a two-sided 90 % interval


@dataclass(frozen=True)
class NoiseEstimate:
    """What is known of the noise in the gradient, averaged over past steps.

    Attributes:
        steps: that have been measured.
        gradient: the squared norm of the true gradient, |G|².
        noise: the trace of the covariance of one sample's gradient, tr Σ.
        scale: tr Σ ÷ |G|², in samples; NaN where |G|² is not known to be positive.
        low: the lower end of its 90 % interval.
        high: the upper end.
    """

    steps: int
    gradient: float
    noise: float
    scale: float
    low: float
    high: float


class NoiseScale:
    """Measures the gradient noise scale while a model trains.

    A step needs two micro-batches at least, of this process or of several ranks: their gradients
    differ by noise alone. With b_i samples in each of n micro-batches and B in all, the mean of
    |g_i|² weighted by b_i is above |G_B|² by tr Σ · (n - 1) ÷ B, where g_i are the means over the
    samples of a micro-batch and G_B is that over all. Numerator and denominator are averaged apart.
    A single micro-batch says nothing, and is left out. Where samples have weights w, a mean of them
    is as noisy as that of (Σ w)² ÷ Σ w² which weigh the same.

    Squared norms are taken in the backward pass, parameter by parameter, and keep no gradient.
    Source: McCandlish et al., "An Empirical Model of Large-Batch Training", 2018, appendix A.
    """

    def __init__(
        self,
        model: torch.nn.Module | Iterable[torch.nn.Parameter],
        *,
        average: float = 0.99,
        preconditioner: torch.optim.Optimizer | None = None,
    ) -> None:
        """Begins to look at gradients.

        Args:
            model: whose parameters that require a gradient are measured; or these themselves.
            average: decay of the averages, 0 to 1.
            preconditioner: an optimizer of Adam's kind, whose second moments the gradients are
                measured in; the plain gradients where absent.

        Raises:
            PipelineError: a decay outside 0 to 1, no parameter requires a gradient, or each rank
                has a part of them alone.
        """
        if not 0 <= average < 1:
            raise PipelineError(f"average={average!r} is no decay: give a number from 0 to below 1")
        parameters = model.parameters() if isinstance(model, torch.nn.Module) else model
        self._parameters = [each for each in parameters if each.requires_grad]
        refuse_sharded(
            model if isinstance(model, torch.nn.Module) else self._parameters, preconditioner
        )
        if not self._parameters:
            raise PipelineError("no parameter of the model requires a gradient: nothing to measure")
        self._average = PairAverage(average)
        self._preconditioner = preconditioner
        groups = [] if preconditioner is None else preconditioner.param_groups
        self._groups = {id(each): group for group in groups for each in group["params"]}
        self._weight = 0.0  # of the micro-batch that is under way; 0: none
        self._norms: list[torch.Tensor] = []  # of the gradients that are there
        # Squared norm, sum of the samples' weights, samples that are as good.
        self._micro: list[tuple[torch.Tensor, float, float]] = []
        self._hooks: list[Any] = []
        for each in self._parameters:
            hook: Any = each.register_hook
            self._hooks.append(hook(self._hook_of(each)))

    def close(self) -> None:
        """Looks no more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def begin(self, weight: float) -> None:
        """A backward pass begins, whose gradients are `weight` times those of the mean loss."""
        self._weight, self._norms = float(weight), []

    def end(self, samples: float, effective: float | None = None) -> None:
        """It has ended; its loss was the mean over so many samples.

        Args:
            samples: how many, or the sum of their weights.
            effective: (Σ w)² ÷ Σ w² of their weights w; as many as samples where absent.
        """
        if self._norms:
            total = torch.stack(self._norms).square().sum() / self._weight**2
            good = float(samples if effective is None else effective)
            self._micro.append((total, float(samples), good))
        self._weight, self._norms = 0.0, []

    def drop(self) -> None:
        """The step comes to nothing: what was measured of it is forgotten."""
        self._micro = []

    def step(self) -> bool:
        """All micro-batches of a step are in, and ``grad`` holds their mean over all samples.

        To be called before gradients are clipped, on every rank.

        Returns:
            Whether it has measured anything.
        """
        micro, self._micro = self._micro, []
        sums = [
            float(len(micro)),
            sum(weight for _, weight, _ in micro),
            sum(weight * float(square) for square, weight, _ in micro),
            sum(weight / good for _, weight, good in micro),
            sum(weight**2 / good for _, weight, good in micro),
        ]
        count, whole, *rest = ranks.total(sums, self._parameters[0].device)
        if count < 2:
            return False
        small, noisy, least = rest[0] / whole, rest[1] / whole, rest[2] / whole**2
        norms = self._norms_of_all()
        large = float(torch.stack(list(norms)).square().sum()) if norms else 0.0
        noise = (small - large) / (noisy - least) if noisy > least else math.nan
        gradient = large - noise * least
        if not (math.isfinite(noise) and math.isfinite(gradient)):
            return False
        self._average.add(noise, gradient)
        return True

    @property
    def estimate(self) -> NoiseEstimate:
        """What is known by now."""
        noise, gradient = self._average.means
        if not (self._average.count and noise > 0 and gradient > 0):
            unknown = math.nan
            return NoiseEstimate(self._average.count, gradient, noise, unknown, 0.0, math.inf)
        scale, error = noise / gradient, _NORMAL_90 * self._average.ratio_error()
        low, high = max(0.0, scale - error), scale + error
        return NoiseEstimate(self._average.count, gradient, noise, scale, low, high)

    def state_dict(self) -> dict[str, Any]:
        """What the estimate stands on."""
        return self._average.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there."""
        self._average.load_state_dict(state)

    def _hook_of(self, parameter: torch.nn.Parameter) -> Any:
        def hook(gradient: torch.Tensor) -> None:
            if self._weight != 0:
                self._norms.append(self._norm(parameter, gradient))

        return hook

    def _norms_of_all(self) -> Sequence[torch.Tensor]:
        """Of the gradients that the optimizer will see."""
        there = [(each, each.grad) for each in self._parameters if each.grad is not None]
        gradients = [gradient for _, gradient in there]
        if self._preconditioner is None and not any(each.is_sparse for each in gradients):
            return torch._foreach_norm(gradients, 2, dtype=torch.float32) if gradients else []
        return [self._norm(parameter, gradient) for parameter, gradient in there]

    def _norm(self, parameter: torch.nn.Parameter, gradient: torch.Tensor) -> torch.Tensor:
        """The norm of a gradient, in float32, as the preconditioner has it."""
        values = gradient.detach()
        if values.is_sparse:
            values = values.coalesce().values()
        scale = self._second_moment(parameter)
        if scale is not None and not gradient.is_sparse:
            values = values / scale
        norm: torch.Tensor = torch.linalg.vector_norm(values, dtype=torch.float32)
        return norm

    def _second_moment(self, parameter: torch.nn.Parameter) -> torch.Tensor | None:
        """What Adam divides its step by; None before its first."""
        if self._preconditioner is None:
            return None
        state = self._preconditioner.state.get(parameter)
        if not state or "exp_avg_sq" not in state:
            return None
        group = self._groups[id(parameter)]
        correction = 1 - group["betas"][1] ** float(state["step"])
        root: torch.Tensor = (state["exp_avg_sq"] / correction).sqrt().add_(group["eps"])
        return root


def adascale_gain(estimate: NoiseEstimate, batch: float, reference: float) -> float:
    """How much a step of `batch` samples is worth, in steps of `reference` samples.

    (tr Σ ÷ reference + |G|²) ÷ (tr Σ ÷ batch + |G|²), from 1 to batch ÷ reference.
    Source: Johnson et al., "AdaScale SGD", 2020.

    Args:
        estimate: of the noise; where it is unknown the gain is 1.
        batch: samples of a step.
        reference: samples of a step of the schedule that the learning rate was tuned for.
    """
    if math.isnan(estimate.scale):
        return 1.0
    gain = (estimate.noise / reference + estimate.gradient) / (
        estimate.noise / batch + estimate.gradient
    )
    return min(max(1.0, gain), max(1.0, batch / reference))
