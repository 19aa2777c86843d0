"""What the losses of trainers are the mean over, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from drapps.train import ranks
from drapps.train.batches import samples_of

_IGNORED = -100  # the label of tokens that no loss counts


@dataclass(frozen=True)
class MicroBatch:
    """A micro-batch of a step under Hugging Face's ``Trainer``.

    Attributes:
        size: samples, or tokens where the loss is the mean over those.
        items: tokens of the whole step, which its losses are divided by; None where a loss is the
            mean over its samples, and then divided by the number of micro-batches.
        known: the model is given what says so.
        other: its size with the first token of each row where `size` is without, or the other way.
    """

    size: int
    items: int | None
    known: bool = True
    other: int = -1


@dataclass(frozen=True)
class StepSize:
    """What a step was made of.

    Attributes:
        samples: of all ranks, or tokens.
        micro_batches: of each.
        known: each has entered the gradient with the weight that it was taken to have.
    """

    samples: float
    micro_batches: int
    known: bool


class MicroBatches:
    """Those of the step that is under way.

    A model that is given ``num_items_in_batch`` divides its loss by the tokens of the step. Whether
    the first token of a row counts among them depends on the model, and is found by what adds up.
    """

    def __init__(self) -> None:
        self._micro_batches: list[MicroBatch] = []
        self._first_counts = False

    def begin(self, given: Mapping[str, Any]) -> MicroBatch:
        """The next one, by what the model is given."""
        items = given.get("num_items_in_batch")
        labels = given.get("shift_labels", given.get("labels"))
        known = isinstance(labels, torch.Tensor)
        if items is None or not known or labels.ndim < 2:  # equal samples, whoever divides by them
            micro_batch = MicroBatch(samples_of(given), None, known or items is None)
        else:
            counted = labels.ne(_IGNORED)
            sizes = [int(counted[..., 1:].sum()), int(counted.sum())]
            which = "shift_labels" in given or self._first_counts
            micro_batch = MicroBatch(sizes[which], int(items), other=sizes[not which])
        self._micro_batches.append(micro_batch)
        return micro_batch

    def end(self, planned: int, device: torch.device, shared: bool) -> StepSize:
        """No other follows in this step; all ranks come to the same.

        Args:
            planned: micro-batches of a step.
            device: where ranks exchange numbers.
            shared: `items` are those of all ranks together.
        """
        micro_batches, self._micro_batches = self._micro_batches, []
        sizes = [each.size for each in micro_batches]
        items = micro_batches[0].items if micro_batches else None
        squares = sum(size * size for size in sizes)
        other = sum(each.other for each in micro_batches)
        numbers = [sum(sizes), other, squares, len(sizes), 1]
        if items is not None and not shared:
            numbers += [sum(sizes) != items, other != items]
        else:
            numbers += [not all(each.known for each in micro_batches), 0]
        size, otherwise, square, count, world, wrong, other_wrong = ranks.total(numbers, device)
        if items is None:  # all of one size, and as many as their losses were divided by
            known = not wrong and count * square == size**2 and count == planned * world
            return StepSize(size, len(sizes), known)
        known = size == items if shared else not wrong
        if not known and (otherwise == items if shared else not other_wrong):
            self._first_counts = not self._first_counts
        return StepSize(size, len(sizes), known)
