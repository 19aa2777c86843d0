"""Steps of a pass that are left out, as one leaves them out after a spike of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from drapps import _core
from drapps.errors import StateError
from drapps.stream import Stream

if TYPE_CHECKING:
    from drapps.bad_samples import BadSamplesFile
    from drapps.report import BadSample


class Skipped(NamedTuple):
    """Rows of all ranks, by their positions in an epoch: from `first` to before `behind`."""

    epoch: int
    first: int
    behind: int


def in_state(state: Mapping[str, Any]) -> list[Skipped]:
    """The skipped rows that a state has.

    Raises:
        StateError: they are no such thing.
    """
    try:
        return [Skipped(*map(int, each)) for each in state.get("skipped", ())]
    except (TypeError, ValueError):
        raise StateError("the state's skipped steps are not as they were saved") from None


def steps_left(skipped: Sequence[Skipped], position: int, end: int, step: int) -> int:
    """Steps of so many rows from a position to the end that meet none of an epoch's ranges."""
    count = 0
    for each in sorted(skipped):
        if position < each.behind and each.first < end:
            count += max(0, each.first - position) // step
            position = each.behind
    return count + max(0, end - position) // step


class SkippingStream(Stream):
    """A stream that jumps over ranges: it begins anew behind each, with where it stood before."""

    def __init__(
        self,
        native: _core.Loader,
        epoch: int,
        start: int,
        *,
        skipped: Sequence[Skipped],
        end: int,
        step: int,
        cursors: bytes,
        bad_samples_file: BadSamplesFile | None,
    ) -> None:
        """Begins a pass to row `end`; `step` is how many rows of all ranks a step has."""
        self._loader = native
        self._skipped = sorted(each for each in skipped if each.epoch == epoch)
        self._end = end
        self._step = step
        self._met: list[BadSample] = []
        self._outside = self._asked = False
        super().__init__(
            native,
            epoch,
            self._behind(start),
            cursors=cursors,
            bad_samples_file=bad_samples_file,
        )

    def next(self) -> _core.Batch:
        """The next batch that is not left out."""
        try:
            return super().next()
        finally:
            self._jump()

    def _behind(self, position: int) -> int:
        """Where the first step from a position on is that is not left out."""
        for each in self._skipped:
            if each.first < position + self._step and each.behind > position:
                position = min(each.behind, self._end)
        return position

    def _jump(self) -> None:
        position = max(self._start, self._native.position)
        behind = self._behind(position)
        if behind == position or self._native.left == 0:
            return
        cursors = self.cursors(position)
        self._met += super().bad_samples()
        self._native.close()
        self._native = self._loader.iterate(self.epoch, behind, None, None, True, cursors)
        self._start, self._written = behind, 0
        if self._outside:
            self._native.consumed_outside()
        if self._asked:
            self._native.asks()

    def consumed_outside(self) -> None:
        """As `Stream.consumed_outside`."""
        self._outside = True
        super().consumed_outside()

    def asks(self) -> None:
        """As `Stream.asks`."""
        self._asked = True
        super().asks()

    def gives(self) -> None:
        """As `Stream.gives`."""
        self._asked = False
        super().gives()

    @property
    def left(self) -> int:
        """Steps that are still to come."""
        if self._native.left == 0:
            return 0
        position = max(self._start, self._native.position)
        return steps_left(self._skipped, position, self._end, self._step)

    @property
    def place(self) -> tuple[int, int]:
        """Where to go on after the batches yielded: (epoch, position)."""
        if self.left <= 0:
            return self.epoch + 1, 0
        return self.epoch, max(self._start, self._native.position)

    def bad_samples(self) -> list[BadSample]:
        """The bad samples so far."""
        return [*self._met, *super().bad_samples()]
