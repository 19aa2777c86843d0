"""Which epoch the next iterator gets, and where in it to begin."""

from __future__ import annotations

from drapps.arguments import whole

LAST = 2**32 - 1  # a word of the random numbers' coordinates


class Epochs:
    """Hands out epoch numbers: the next one to each iterator, unless one is pinned or resumed."""

    def __init__(self) -> None:
        self._next = 0
        self._start = 0

    @property
    def upcoming(self) -> tuple[int, int]:
        """The epoch and the position at which the next iterator will begin."""
        return self._next, self._start

    def take(self) -> tuple[int, int]:
        """The epoch and start of a new iterator."""
        taken = self.upcoming
        self._next, self._start = taken[0] + 1, 0
        return taken

    def pin(self, epoch: int) -> None:
        """The next iterator takes `epoch`, from its beginning unless it was to be resumed."""
        epoch = whole("epoch", epoch, 0, LAST)
        if epoch != self._next:
            self._start = 0
        self._next = epoch

    def resume(self, epoch: int, position: int) -> None:
        """The next iterator goes on in `epoch` after `position` samples."""
        self._next, self._start = epoch, position
