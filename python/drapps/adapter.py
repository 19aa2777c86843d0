"""What the front of a framework needs of a loader: `ColumnLoader`, which `drapps.Loader` is.

`drapps.jax`, `drapps.keras` and `drapps.tensorflow` are written against this alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from drapps.batch import Batch
from drapps.epochs import Epochs
from drapps.errors import PipelineError
from drapps.recording import Recording
from drapps.report import BadSample, Column, Explanation, MemoryReport, Stats


@dataclass(frozen=True)
class Layout:
    """What batches hold, and how an epoch is dealt out; the same for all the life of a loader.

    Attributes:
        columns: the tensors of every batch.
        batch_size: rows of a whole batch, on this rank.
        rank, world: this process, and how many share an epoch.
        remainder: what becomes of a last batch that is smaller, on all ranks together: ``even``
            splits it, ``pad`` fills it up, ``drop`` leaves it out.
        on_error: what a bad sample does: ``raise``, ``skip`` its row, or ``replace`` it.
        dataset_size: samples in the source.
        classes: their names in the order of the labels; empty where the source has none.
    """

    columns: tuple[Column, ...]
    batch_size: int
    rank: int
    world: int
    remainder: str
    on_error: str
    dataset_size: int
    classes: tuple[str, ...]

    @property
    def global_batch(self) -> int:
        """Samples that all ranks take with a step; positions grow by it."""
        return self.batch_size * self.world

    def left_over(self, position: int = 0) -> int:
        """Samples in a smaller last batch, of all ranks together; 0 where all batches are whole.

        Args:
            position: where in the epoch a pass begins.
        """
        if self.remainder != "even":
            return 0
        return (self.dataset_size - position) % self.global_batch

    def select(self, names: Sequence[str]) -> tuple[Column, ...]:
        """The columns of these names.

        Raises:
            PipelineError: there is no such column, or none was named.
        """
        if isinstance(names, str) or not names:
            raise PipelineError(f"columns={names!r} must be names, such as ('image', 'label')")
        known = {column.name: column for column in self.columns}
        for name in names:
            if name not in known:
                raise PipelineError(
                    f"batches have no column {name!r}; they have {', '.join(known)}"
                )
        return tuple(known[name] for name in names)


@runtime_checkable
class SteeredLoader(Protocol):
    """What can be asked of any loader: `drapps.Loader` and `drapps.torch.DataLoader`.

    Attributes:
        policy: who moves the knobs; may be set at any time.
    """

    policy: Any

    def __len__(self) -> int:
        """Steps of a whole epoch."""

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` takes this epoch number."""

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator is."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made."""

    def bad_samples(self) -> list[BadSample]:
        """The bad samples that the latest iterator met."""

    def explain(self) -> Explanation:
        """What runs and why."""

    def stats(self) -> Stats:
        """All that was counted since the loader was made."""

    def memory(self) -> MemoryReport:
        """What the bytes of the process are for."""

    def export_settings(self) -> dict[str, Any]:
        """The knobs as they stand."""

    def freeze(self, frozen: bool = True) -> None:
        """Stops the control plane."""

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """Records every decision, and all that it was made from, into a new file."""


class ConsumerMarks(Protocol):
    """Where the training step's stall is measured: between `asks` and `gives`."""

    def asks(self) -> None:
        """The training step asks for its next batch."""

    def gives(self) -> None:
        """The training step is given the batch, or the error in its place."""


@runtime_checkable
class BatchIterator(Iterator[Batch], Protocol):
    """One pass over one epoch. Errors do not end it: the next call goes on behind the bad batch."""

    def __len__(self) -> int:
        """Steps that are still to come."""

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and position behind the batches yielded."""

    def consumed_outside(self) -> ConsumerMarks:
        """Marks for who takes batches ahead of the training step.

        From here on a call of ``next`` is no step: who hands out the batches marks the steps.
        """

    def state_dict(self) -> dict[str, Any]:
        """A state that goes on behind the batches yielded."""

    def bad_samples(self) -> list[BadSample]:
        """The bad samples that this pass met."""

    def close(self) -> None:
        """Stops working ahead. Batches that were yielded stay valid."""


@runtime_checkable
class ColumnLoader(SteeredLoader, Protocol):
    """A loader whose batches have columns of known form: `drapps.Loader`."""

    @property
    def layout(self) -> Layout:
        """What batches hold, and how an epoch is dealt out."""

    @property
    def epochs(self) -> Epochs:
        """Which epoch the next ``iter()`` gets, and where in it that begins."""

    def steps(self, epoch: int, position: int = 0) -> int:
        """Steps of an epoch from a position on."""

    def __iter__(self) -> BatchIterator:
        """A pass over the next epoch."""

    def iterate_on(self, device: str) -> BatchIterator:
        """A pass over the next epoch, whose batches a device finishes where it can."""

    def iterate(self, epoch: int, position: int = 0) -> BatchIterator:
        """A pass from any place on, of which `state_dict` and `epochs` know nothing."""
