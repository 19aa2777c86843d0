"""A map-style dataset in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch.utils.data import Subset, _DatasetKind

from drapps.attributes import attribute_of, attributes_of
from drapps.item_cache.dataset import uncached
from drapps.torch.job import TorchJob
from drapps.torch.own_state import Unwatched, Watch
from drapps.torch.worker_reports import ReportedBatch


@dataclass(kw_only=True)
class MapJob(TorchJob):
    """Makes single samples, or batches as a whole, and looks at what they change in the dataset."""

    kind: ClassVar[Any] = _DatasetKind.Map
    _watch: Unwatched = field(default_factory=Unwatched)

    @property
    def keeps_state(self) -> bool:
        """The first batch has changed the dataset."""
        return self._watch.keeps_state

    def start(self, worker: int, allocate: Callable[[int], Any]) -> None:
        """Begins as a stock worker does."""
        super().start(worker, allocate)
        self._watch = Watch({"dataset": self.dataset, "collate_fn": self.collate_fn})

    def sample(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """``dataset[index]`` by the virtual worker, with the position's random numbers."""
        if worker != self._current:
            self._become(worker)
        self.numbers.sample(worker, epoch, position)
        sample = self.dataset[index]
        self._watch.sample_made()
        return sample

    def collate(self, samples: list[Any], worker: int, epoch: int, position: int) -> Any:
        """The user's collate function; its random numbers are those of the first position."""
        self._become(worker)
        self.numbers.batch(worker, epoch, position)
        return self._reported(self.collate_fn(samples))

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch by the stock fetcher."""
        self._become(worker)
        self.numbers.batch(worker, epoch, position)
        return self._reported(self._fetcher.fetch(index))

    def _reported(self, data: Any) -> Any:
        """A batch, with what the parent is to know."""
        changed, drawn = self._watch.batch_made(), self._drawn()
        return ReportedBatch(data, drawn, changed) if drawn or changed is not None else data

    def leave(self, worker: int) -> tuple[str, Any]:
        """How `worker` can go to another process now, and what it takes along."""
        return "with its dataset, between two batches", self._carried(worker)

    def _arrive(self, carried: Any) -> None:
        """Goes on with the dataset of a virtual worker; what changed in it has been told."""
        super()._arrive(carried)
        self._watch = Unwatched()


def gives_samples(dataset: Any) -> bool:
    """Whether a batch is its samples one by one.

    A ``Subset`` gives what its dataset gives, and so does a dataset whose items are cached.
    """
    dataset = uncached(dataset)
    if not attribute_of(dataset, "__getitems__"):
        return True
    kind = type(dataset)
    plain = "__getitems__" not in attributes_of(dataset) and issubclass(kind, Subset)
    plain = plain and kind.__getitems__ is Subset.__getitems__
    return plain and kind.__getitem__ is Subset.__getitem__ and gives_samples(dataset.dataset)
