"""The training step of a plain loop: accumulation, precision, learning rate, and a report."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.train import ranks
from drapps.train.batch_schedule import BatchSchedule
from drapps.train.learning_rate import Scaling, WarmupCosine, scaled
from drapps.train.noise import NoiseEstimate, NoiseScale, adascale_gain
from drapps.train.precision import Kind, Precision
from drapps.train.report import StepReport
from drapps.train.sharded import refuse_sharded

_UNKNOWN = NoiseEstimate(0, math.nan, math.nan, math.nan, 0.0, math.inf)
_PROBE_EVERY = 20  # steps


class Step:
    """Makes the steps of an optimizer, of one or several micro-batches each.

        step = drapps.train.Step(model, optimizer, batch=drapps.train.BatchSchedule(most=16))
        for image, label in loader:
            with step:
                loss = loss_of(model(image), label)
            step.backward(loss, samples=len(image))
        print(step.report())

    A gradient is the mean over the samples that the step has seen, whatever the sizes of its
    micro-batches and however many ranks there are: equal to that of one large batch, but for what
    a layer makes of a whole batch, as batch norm does. Gradients of ``DistributedDataParallel`` are
    exchanged in the last micro-batch alone.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        batch: BatchSchedule | int = 1,
        precision: Kind | Precision = "fp32",
        learning_rate: WarmupCosine | None = None,
        scaling: Scaling = "none",
        reference: float | None = None,
        clip: float | None = None,
        noise: NoiseScale | bool | None = None,
    ) -> None:
        """Puts the parts together. Nothing but what is named changes a plain step.

        Args:
            model: whose losses come.
            optimizer: whose steps are made.
            batch: micro-batches of a step, or the schedule that says how many.
            precision: in which the forward pass computes.
            learning_rate: moved by each step: by its samples over all ranks, or by its gain where
                the scaling is one of AdaScale's.
            scaling: how the learning rate follows the batch.
            reference: samples of a step for which the rate was tuned; those of the first step where
                absent.
            clip: the largest norm of a gradient.
            noise: what measures the noise scale, or whether one does; where absent, one does where
                the schedule or the scaling needs it.

        Raises:
            PipelineError: parts that do not go together; the message says which.
        """
        refuse_sharded(model, optimizer)
        if isinstance(batch, int):
            batch = BatchSchedule(most=batch, least=batch)
        if scaling != "none" and learning_rate is None:
            raise PipelineError(f"scaling={scaling!r} is of a learning_rate, and there is none")
        needs = batch.most > batch.least or scaling.startswith("adascale")
        if noise is False and needs:
            raise PipelineError(
                "a noise scale is needed by the batch or the scaling: leave noise out"
            )
        self.model, self.optimizer = model, optimizer
        self.batch, self.learning_rate = batch, learning_rate
        self.scaling, self.reference, self.clip = scaling, reference, clip
        device = next(model.parameters()).device
        self.precision = (
            precision if isinstance(precision, Precision) else Precision(precision, device)
        )
        scale = noise if isinstance(noise, NoiseScale) else None
        self.noise = NoiseScale(model) if scale is None and (noise or needs) else scale
        self.steps = 0
        self.samples = 0.0
        self._seen: list[float] = []  # samples of the step's micro-batches
        self._unit = 0.0  # samples that a micro-batch is taken to have, on every rank
        self._more = False  # parts of the micro-batch follow
        self._context = contextlib.ExitStack()

    @property
    def last(self) -> bool:
        """Whether the next micro-batch ends a step."""
        return not self._more and len(self._seen) + 1 >= (
            2 if self._probes else self.batch.accumulation
        )

    def __enter__(self) -> Step:
        """A micro-batch begins: its forward pass runs in the precision."""
        self._context = contextlib.ExitStack()
        self._context.enter_context(self.precision.autocast())
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def backward(
        self, loss: torch.Tensor, samples: float | torch.Tensor, *, last: bool | None = None
    ) -> bool:
        """The backward pass of a micro-batch, and the step where that is its last.

        Args:
            loss: the mean over the samples.
            samples: of the micro-batch, or tokens: whatever the loss is the mean over. One without
                any adds nothing. Where it is a weighted mean, the weights, a tensor of shape
                (samples,).
            last: whether it ends a step; as the schedule says where absent. Give True with the last
                batch of an epoch, or call `finish`.

        Returns:
            Whether a step was made. The gradients are gone then.

        Raises:
            PipelineError: samples or weights below 0, or a loss that is no single number.
        """
        samples, effective = _counted(samples)
        if loss.numel() != 1 or not samples >= 0:
            raise PipelineError(
                f"a loss of {loss.numel()} numbers over {samples!r} samples: give the mean, and of "
                "how many it is the mean"
            )
        ends = self.last if last is None else last
        if not self._unit:
            self._unit = ranks.most(samples, self._device) or 1.0
        weight = samples / self._planned
        if samples > 0 or (ends and ranks.count() > 1):
            noise = self.noise if samples > 0 else None
            if noise is not None:
                noise.begin(self.precision.scale * weight)
            with self._exchange(ends):
                self.precision.backward(loss * weight)
            if noise is not None:
                noise.end(samples, effective)
        self._seen.append(float(samples))
        return self._make() if ends else False

    def parts(self, *batch: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
        """The batch, or its halves where that is how the noise can be measured.

        Where a step has one micro-batch on one rank, every twentieth is halved; without this every
        twentieth has two, where its batch has a schedule. A backward pass belongs to each part.

        Args:
            batch: tensors whose first dimension is the samples.
        """
        count = len(batch[0])
        if not (self._alone and count > 1):
            yield batch
            return
        self._more = True
        yield tuple(each[: count // 2] for each in batch)
        self._more = False
        yield tuple(each[count // 2 :] for each in batch)

    def finish(self) -> bool:
        """Makes a step of the micro-batches that are left at the end of an epoch, if any are.

        Raises:
            PipelineError: several ranks: what is left was not exchanged. Give ``last=True`` with
                the last batch.
        """
        if self._seen and ranks.count() > 1:
            raise PipelineError("gradients were not exchanged: give last=True with the last batch")
        return self._make() if self._seen else False

    def report(self) -> StepReport:
        """What steps were made of; it prints as a page."""
        return StepReport(
            self.steps,
            self.samples,
            self.batch.accumulation,
            [list(each) for each in self.batch.history],
            None if self.noise is None else self.noise.estimate,
            self.precision.kind,
            self.precision.why,
            self.precision.skipped,
            self.precision.scale,
            [float(group["lr"]) for group in self.optimizer.param_groups],
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything but model and optimizer, between two steps.

        Raises:
            PipelineError: micro-batches of a step are under way.
        """
        if self._seen:
            raise PipelineError(
                f"{len(self._seen)} of {self.batch.accumulation} micro-batches are under way: take "
                "the state where backward() has returned True"
            )
        state = {
            "steps": self.steps,
            "samples": self.samples,
            "reference": self.reference,
            "unit": self._unit,
            "ranks": ranks.count(),
            "batch": self.batch.state_dict(),
            "precision": self.precision.state_dict(),
        }
        for name in ("noise", "learning_rate"):
            part = getattr(self, name)
            state[name] = None if part is None else part.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there, on any number of ranks; load the optimizer's state before.

        Raises:
            PipelineError: it is of a step with other parts, or of micro-batches that these ranks
                cannot share.
        """
        for name in ("noise", "learning_rate"):
            part = getattr(self, name)
            if (part is None) != (state[name] is None):
                missing = "without" if state[name] is None else "with"
                raise PipelineError(f"the state is of a step {missing} {name}")
            if part is not None:
                part.load_state_dict(state[name])
        self.precision.load_state_dict(state["precision"])
        self.batch.load_state_dict(state["batch"], ranks=(int(state["ranks"]), ranks.count()))
        self.steps, self.samples = int(state["steps"]), float(state["samples"])
        self.reference, self._unit = state["reference"], float(state["unit"])

    def _exchange(self, ends: bool) -> contextlib.AbstractContextManager[Any]:
        """Ranks exchange gradients in the last micro-batch alone."""
        if ends or not hasattr(self.model, "no_sync"):
            return contextlib.nullcontext()
        model: Any = self.model
        context: contextlib.AbstractContextManager[Any] = model.no_sync()
        return context

    @property
    def _alone(self) -> bool:
        """Whether this step is to measure the noise, and has a single micro-batch by itself."""
        one = self.batch.accumulation == 1 and ranks.count() == 1
        return self.noise is not None and one and self.steps % _PROBE_EVERY == 0

    @property
    def _probes(self) -> bool:
        """Whether it has a second one."""
        return self._alone and self.batch.most > self.batch.least

    @property
    def _planned(self) -> float:
        """Samples of this rank that losses are divided by, before the true number is known."""
        return self._unit * self.batch.accumulation

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _make(self) -> bool:
        seen, self._seen = sum(self._seen), []
        total = ranks.total([seen], self._device)[0]
        if total <= 0:
            self._forget()
            return False
        self.precision.unscale(self.optimizer)
        self._divide(ranks.count() * self._planned / total)
        estimate = _UNKNOWN
        if self.noise is not None:
            self.noise.step()
            estimate = self.noise.estimate
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if self.reference is None:
            self.reference = total
        if self.learning_rate is not None and self.scaling != "none":
            self.learning_rate.follow(scaled(self.scaling, total, self.reference, estimate))
        finite = self.precision.step(self.optimizer)
        self.optimizer.zero_grad(set_to_none=True)
        if not finite:
            return False
        self.steps += 1
        self.samples += total
        if self.learning_rate is not None:
            gains = self.scaling.startswith("adascale")
            self.learning_rate.step(
                adascale_gain(estimate, total, self.reference) if gains else total
            )
        self.batch.step(estimate, total)
        return True

    def _divide(self, factor: float) -> None:
        if factor == 1.0:
            return
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, factor)

    def _forget(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        if self.noise is not None:
            self.noise.drop()


def _counted(samples: float | torch.Tensor) -> tuple[float, float]:
    """Samples that a loss is the mean over, and equally weighted ones that would be as noisy."""
    if not isinstance(samples, torch.Tensor) or samples.ndim == 0:
        return float(samples), float(samples)
    if bool((samples < 0).any()):
        return math.nan, math.nan
    total, squares = float(samples.sum()), float(samples.square().sum())
    return total, total**2 / squares if squares > 0 else 0.0
