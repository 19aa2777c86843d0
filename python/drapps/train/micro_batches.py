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
        told: the model is given what says so.
        other: its size with the first token of each row where `size` is without, or the other way.
    """

    size: int
    items: int | None
    told: bool = True
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
        self._found: list[MicroBatch] = []
        self._first_counts = False

    def begin(self, given: Mapping[str, Any]) -> MicroBatch:
        """The next one, by what the model is given."""
        items = given.get("num_items_in_batch")
        labels = given.get("shift_labels", given.get("labels"))
        told = isinstance(labels, torch.Tensor)
        if items is None or not told or labels.ndim < 2:  # equal samples, whoever divides by them
            made = MicroBatch(samples_of(given), None, told or items is None)
        else:
            counted = labels.ne(_IGNORED)
            sizes = [int(counted[..., 1:].sum()), int(counted.sum())]
            which = "shift_labels" in given or self._first_counts
            made = MicroBatch(sizes[which], int(items), other=sizes[not which])
        self._found.append(made)
        return made

    def end(self, planned: int, device: torch.device, shared: bool) -> StepSize:
        """No other follows in this step; all ranks come to the same.

        Args:
            planned: micro-batches of a step.
            device: where ranks exchange numbers.
            shared: `items` are those of all ranks together.
        """
        found, self._found = self._found, []
        sizes = [each.size for each in found]
        items = found[0].items if found else None
        squares = sum(size * size for size in sizes)
        other = sum(each.other for each in found)
        numbers = [sum(sizes), other, squares, len(sizes), 1]
        if items is not None and not shared:
            numbers += [sum(sizes) != items, other != items]
        else:
            numbers += [not all(each.told for each in found), 0]
        size, otherwise, square, count, world, wrong, other_wrong = ranks.total(numbers, device)
        if items is None:  # all of one size, and as many as their losses were divided by
            known = not wrong and count * square == size**2 and count == planned * world
            return StepSize(size, len(sizes), known)
        known = size == items if shared else not wrong
        if not known and (otherwise == items if shared else not other_wrong):
            self._first_counts = not self._first_counts
        return StepSize(size, len(sizes), known)
