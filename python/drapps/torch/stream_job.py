"""An iterable-style dataset in a worker process: the stream of one virtual worker."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from torch.utils.data import _DatasetKind

from drapps.attributes import attribute_of
from drapps.torch.job import TorchJob
from drapps.torch.streams import fetcher_at, state_owner
from drapps.torch.told_state import NoStateError, kept_state, sent_state
from drapps.torch.worker_reports import BegunPass, EndedStream, StreamBatch
from drapps.worker.job import EndOfStream

_Attributes = dict[str, Any] | None  # of a dataset; None where it has no dictionary


class _Phase(Enum):
    """How far a stream is."""

    FRESH = "nobody has asked it for a batch"
    BEGUN = "a batch was asked for"
    OVER = "it has ended"


@dataclass(frozen=True)
class _Given:
    """A state that the stream was given, until it is asked for a batch.

    Attributes:
        state: the stream's own.
        before: the dataset's attributes before it was given that.
    """

    state: Any
    before: _Attributes


@dataclass(kw_only=True)
class StreamJob(TorchJob):
    """Makes batches of a stream, and tells where it is behind each.

    Attributes:
        batch_size: by which it is run again up to a place.
        resumed: virtual workers whose streams begin at a place, which they are told first of all.
    """

    kind: ClassVar[Any] = _DatasetKind.Iterable
    keeps_state: ClassVar[bool] = False  # a stream is bound to its process whatever it keeps
    batch_size: int
    resumed: frozenset[int]
    _phase: _Phase = _Phase.FRESH
    _given: _Given | None = None
    _began: _Attributes = None  # the dataset's attributes before the stream
    _owner: Any = None  # of its state, if there is one

    def begin(self, worker: int) -> None:
        """The stream of `worker`; one that is told its place is not begun twice."""
        if worker not in self.resumed:
            self._go_to({})

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch by the stock fetcher."""
        if self._phase is _Phase.OVER:
            raise EndOfStream(EndedStream({}))
        self._become(worker)
        self.numbers.batch(worker, epoch, position)
        self._phase, self._given = _Phase.BEGUN, None
        try:
            data = self._fetcher.fetch(index)
        except StopIteration:
            self._phase = _Phase.OVER
            # A batch that is dropped for its size was made: what it drew is drawn.
            raise EndOfStream(EndedStream(self._drawn())) from None
        drawn, ended = self._drawn(), self._fetcher.ended
        state = None if self._owner is None else sent_state(self._owner, self.reducer())
        everywhere = self.workers > 1 and self.worker_init_fn is None
        whole = everywhere and not self._infos[worker].asked
        news = drawn or ended or whole or state is not None
        return StreamBatch(data, drawn, None, state, ended, whole) if news else data

    def begin_pass(self, epoch: int, message: Any) -> BegunPass:
        """A new pass, or a place in one.

        Args:
            epoch: its number.
            message: as of any job; of a stream that goes on also ``batches``, and its own ``state``
                where it has one, else it is run again up to there.
        """
        if self._given is not None:  # nobody has looked at the given state
            _set_attributes(self.dataset, self._given.before)
        return super().begin_pass(epoch, message)

    def _go_to(self, message: Any) -> None:
        size = [None] * self.batch_size if self.auto_collation else None
        self._began = _attributes(self.dataset)
        self._set_given(message.get("state"), self._began)
        self._set_fetcher(fetcher_at(self._new_fetcher, self.dataset, message, size))
        runs = self._given is None and message.get("batches", 0) > 0
        self._phase = _Phase.BEGUN if runs else _Phase.FRESH

    def _set_fetcher(self, fetcher: Any) -> None:
        self._fetcher, self._owner = fetcher, state_owner(fetcher)

    def _set_given(self, state: Any, before: _Attributes) -> None:
        self._given = None if state is None else _Given(state, before)

    def leave(self, worker: int) -> tuple[str, Any] | None:
        """How `worker` can go to another process now, and what it takes along; None: it cannot.

        Its dataset object and random states; of a stream that has not ended also its
        ``state_dict``, and the dataset's attributes as they were when it began, as it begins again
        from there.
        """
        carried = self._carried(worker)
        over = self._phase is _Phase.OVER or self._fetcher.ended
        carried["over"] = over
        if over:
            return "with its dataset, after the end of its stream", carried
        # A stream may begin, and look at what it was given, as late as with its first batch.
        before = _attributes(self.dataset) if self._given is None else self._given.before
        begun = self._phase is _Phase.BEGUN
        given = None if self._given is None else self._given.state
        state = self._state() if begun else given
        carried |= {"stream": {"state": state}, "began": self._began, "before": before}
        if state is not None:
            return "by the state_dict of its stream", carried
        return None if begun else ("before its stream has begun", carried)

    def _state(self) -> Any:
        """The stream's own state; None where it tells none."""
        with contextlib.suppress(NoStateError):
            return None if self._owner is None else kept_state(self._owner).value()
        return None

    def _arrive(self, carried: Any) -> None:
        self._phase, self._given = _Phase.OVER, None
        if not carried["over"]:
            self._phase, self._began = _Phase.FRESH, carried["began"]
            self._set_given(carried["stream"]["state"], carried["before"])
            _set_attributes(self.dataset, self._began)
            stream = carried["stream"]
            self._set_fetcher(fetcher_at(self._new_fetcher, self.dataset, stream, None))


def _attributes(dataset: Any) -> _Attributes:
    """A copy of a dataset's attributes, their values not copied."""
    own = attribute_of(dataset, "__dict__")
    return dict(own) if isinstance(own, dict) else None


def _set_attributes(dataset: Any, attributes: _Attributes) -> None:
    if attributes is not None:
        vars(dataset).clear()
        vars(dataset).update(attributes)
