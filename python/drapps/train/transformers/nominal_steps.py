"""Steps of several sizes, counted in those of the smallest."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class NominalSteps:
    """How far a training is whose steps were planned as equally large, and are not.

    A step of several times the micro-batches counts for as many nominal ones; the last of an epoch
    for what is left of it. So an epoch has the same number of them, whatever the sizes.

    Attributes:
        per_epoch: nominal steps of an epoch.
        total: nominal steps of the training.
        counted: those that were made.
        in_epoch: those of them that are of the epoch under way.
        begun: an epoch is gone on with, which had begun before.
    """

    per_epoch: int
    total: int
    counted: int
    in_epoch: int
    begun: bool

    @classmethod
    def of(cls, batches: int, least: int, total: int, counted: int) -> NominalSteps:
        """With so many batches in an epoch, and `least` in a nominal step."""
        per_epoch = max(1, math.ceil(batches / least))
        in_epoch = counted % per_epoch
        return cls(per_epoch, total, counted, in_epoch, in_epoch > 0)

    def begin_epoch(self) -> bool:
        """An epoch begins, or is gone on with: whether it is a new one."""
        if self.begun:
            self.begun = False
            return False
        self.in_epoch = 0
        return True

    def add(self, times: int) -> int:
        """A step was made.

        Args:
            times: nominal steps that it would count for within an epoch.

        Returns:
            Those that it counts for.
        """
        count = max(1, min(times, self.per_epoch - self.in_epoch, self.total - self.counted))
        self.counted += count
        self.in_epoch += count
        return count

    def steps_left(self, times: int) -> int:
        """Steps up to the end of the training, if all count for so many."""
        left = max(0, self.total - self.counted)
        here = min(left, self.per_epoch - self.in_epoch)
        epochs, rest = divmod(left - here, self.per_epoch)
        steps = math.ceil(here / times) + math.ceil(rest / times)
        return steps + epochs * math.ceil(self.per_epoch / times)
