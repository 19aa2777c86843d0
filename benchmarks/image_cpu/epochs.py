"""Epochs of DRAPPS at two stages of what it knows about the files.

first    nothing: every epoch is a new loader's first
warm     the index that earlier epochs of the same loader have left
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import drapps

STAGES = ("first", "warm")
_LEARNING = 2  # epochs after which a loader has learnt what it will


class Epochs:
    """Endless epochs of what `make` gives, at one of `STAGES`.

    Beyond the first batch, which is timed on its own, a loader that is to be warm goes through
    whole epochs before it gives another one.

    Attributes:
        loader: that the epochs are of.
        current: the pass that is under way.
    """

    def __init__(self, make: Callable[[], drapps.Loader], stage: str) -> None:
        self._make, self._stage = make, stage
        self.loader = make()
        self.current = iter(self.loader)

    def batches(
        self, learnt: Callable[[drapps.Loader], None] = lambda _loader: None
    ) -> Iterator[drapps.Batch]:
        """Every batch that counts; `learnt` is called after each epoch that does not."""
        learning = _LEARNING if self._stage == "warm" else 0
        begun = False
        while True:
            for batch in self.current:
                if learning and begun:
                    continue
                begun = True
                yield batch
            if learning:
                learning -= 1
                learnt(self.loader)
            if self._stage == "first":
                self.loader = self._make()
            self.current = iter(self.loader)
