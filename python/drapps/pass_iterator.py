"""One pass over one epoch, as its user iterates it: what iterators of every kind of batch share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from drapps.deprecation import old_method

if TYPE_CHECKING:
    from drapps.report import BadSample
    from drapps.stream import Stream
    from drapps.torch.ahead import AheadStream

AnyStream = TypeVar("AnyStream", bound="Stream | AheadStream")
Made = TypeVar("Made")


class PassIterator(Iterator[Made], Generic[AnyStream, Made]):
    """Errors do not end it: the next call goes on behind the bad batch.

    It works ahead until it is exhausted, closed, or no longer referenced.
    """

    def __init__(
        self,
        stream: AnyStream,
        state_of: Callable[[int, int], dict[str, Any]],
        ended: Callable[[], None],
    ) -> None:
        """Takes the stream over.

        Args:
            stream: begun.
            state_of: makes the state of a place: an epoch, and a position in it.
            ended: called when it is exhausted.
        """
        self._stream = stream
        self._state = state_of
        self._ended = ended

    def __del__(self) -> None:
        self.close()

    def _item(self, taken: Any) -> Made:
        """What is yielded of what the stream gave."""
        raise NotImplementedError

    def __next__(self) -> Made:
        try:
            return self._item(self._stream.next())
        except StopIteration:
            self._ended()
            raise

    def __len__(self) -> int:
        """Steps that are still to come."""
        return max(0, self._stream.left)

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and position behind the batches yielded; behind the last, those of the next."""
        return self._stream.place

    def state_dict(self) -> dict[str, Any]:
        """As `Loader.state_dict`, of this iterator."""
        return self._state(*self.place)

    def bad_samples(self) -> list[BadSample]:
        """The bad samples that this iterator met."""
        return self._stream.bad_samples()

    ledger = old_method("ledger", "bad_samples")

    def close(self) -> None:
        """Stops working ahead. Batches that were yielded stay valid."""
        self._stream.close()
