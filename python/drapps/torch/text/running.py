"""How batches of text are made: by worker threads, or in the caller's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drapps.torch.in_process import InProcessIterator
from drapps.torch.map_iterator import MapIterator
from drapps.torch.own_numbers import CallersNumbers
from drapps.torch.requests import BatchRequests, Requests
from drapps.torch.starting import threaded
from drapps.torch.text.cells import Place
from drapps.torch.thread_job import ThreadJob, ThreadSeeds

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader
    from drapps.torch.progress import Progress
    from drapps.torch.text.plan import TextPlan


@dataclass(kw_only=True)
class TextJob(ThreadJob):
    """Makes whole batches by a plan."""

    text: TextPlan

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:  # noqa: ARG002
        """The batch of the samples of `index`."""
        assert isinstance(self.numbers, ThreadSeeds)
        return self.text.batch(index, Place(self.numbers.seed, epoch, position))


class TextIterator(MapIterator):
    """Batches of text from worker threads."""

    def _job_of(self, loader: IteratedLoader[Any]) -> ThreadJob:
        assert loader._text is not None
        return TextJob(text=loader._text, **threaded(self, loader, self._progress.key))

    def _requests_of(self) -> type[Requests]:
        return BatchRequests


class _TextNumbers(CallersNumbers):
    """Those of the place of a batch."""

    def __init__(self, text: TextPlan, progress: Progress) -> None:
        self._text = text
        self._progress = progress

    def fetch(self, fetcher: Any, index: Any) -> Any:  # noqa: ARG002
        """The batch of `index`."""
        progress = self._progress
        place = Place(progress.key, progress.key_epoch, progress.position)
        return self._text.batch(index, place)


class InProcessTextIterator(InProcessIterator):
    """Batches of text in the caller's process, each when it is asked for."""

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        super().__init__(loader)
        assert loader._text is not None
        self._numbers = _TextNumbers(loader._text, self._progress)
