"""Looks at the gradients of a ``Trainer``'s steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers.training_args import TrainingArguments

from drapps.train.micro_batches import MicroBatch, MicroBatches, StepSize
from drapps.train.noise import NoiseScale

_UNTOLD = (
    "the noise of the gradient is not measured: the Trainer gives labels to compute_loss_func or "
    "to label smoothing, and not to the model, so nothing says what its loss is the mean over"
)


class Watch:
    """Looks at the gradients of a model's steps, from its making to `close`.

    Args:
        model: that is trained, as ranks have it.
        args: the Trainer's.
        optimizer: the one that Accelerate has prepared.
        average: as of `NoiseScale`.
        first: called with the model and what it is given, before its first forward pass.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        args: TrainingArguments,
        optimizer: Any,
        average: float,
        first: Callable[[torch.nn.Module, Any], None] | None = None,
    ) -> None:
        self.noise = NoiseScale(model, average=average)
        self.size = StepSize(0.0, 0, False)
        self._args, self._model, self._scaler = args, model, getattr(optimizer, "scaler", None)
        self._first = first
        self._micro = MicroBatches()
        self._open: MicroBatch | None = None  # its backward pass is to come
        self._clip: float | None = None
        self._scale_before = self.scale
        self._warned = False
        self._hook = model.register_forward_pre_hook(self._begin, with_kwargs=True)

    @property
    def scale(self) -> float:
        """Of the loss."""
        return 1.0 if self._scaler is None else float(self._scaler.get_scale())

    def begin_step(self) -> None:
        """A step begins.

        The Trainer clips gradients before anybody sees them. So it does not, up to `end_step`,
        which clips by the same norm.
        """
        self._clip_again()  # where a step has come to nothing
        self._clip, self._args.max_grad_norm = self._args.max_grad_norm, 0.0

    def end_micro_batch(self) -> None:
        """The gradients of a micro-batch are there."""
        if self._open is not None:
            self.noise.end(self._open.size)
            self._open = None

    def end_step(self) -> None:
        """All of a step are, unscaled, and of all ranks."""
        self.end_micro_batch()
        args = self._args
        self.size = self._micro.end(
            args.gradient_accumulation_steps, args.device, args.average_tokens_across_devices
        )
        if self.size.known:
            self.noise.step()
        else:
            self.noise.drop()
        self._scale_before = self.scale
        self._clip_again()
        if args.max_grad_norm > 0:
            torch.nn.utils.clip_grad_norm_(self._model.parameters(), args.max_grad_norm)

    @property
    def came_to_nothing(self) -> bool:
        """Whether a gradient of the step was not finite, so that the optimizer has done nothing.

        Accelerate does not notice where a fused optimizer looks at them itself.
        """
        return self.scale < self._scale_before

    def close(self) -> None:
        """Looks no more."""
        self._hook.remove()
        self.noise.close()
        self._clip_again()

    def _clip_again(self) -> None:
        if self._clip is not None:
            self._args.max_grad_norm, self._clip = self._clip, None

    def _begin(self, model: torch.nn.Module, inputs: Any, given: Mapping[str, Any]) -> None:
        """The forward pass of a micro-batch begins."""
        if self._open is not None or not (model.training and torch.is_grad_enabled()):
            return
        if self._first is not None:
            first, self._first = self._first, None
            self._open = MicroBatch(0, None)  # for passes of its own, which are no micro-batches
            first(model, given or inputs)
        micro = self._micro.begin(given or {"inputs": inputs})
        if not micro.known and not self._warned:
            self._warned = True
            warnings.warn(_UNTOLD, RuntimeWarning, stacklevel=2)
        if micro.items is None:
            share = 1 / self._args.gradient_accumulation_steps
        else:
            ranks = self._args.world_size if self._args.average_tokens_across_devices else 1
            share = micro.size * ranks / max(1, micro.items)
        self.noise.begin(self.scale * share)
        self._open = micro
