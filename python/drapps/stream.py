"""One native iterator with what every front needs around it: steps, failures, a place to resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drapps import _core
from drapps.bad_samples import BadSamplesFile
from drapps.errors import PipelineError, SampleError
from drapps.report import BadSample

if TYPE_CHECKING:
    from drapps.source import Int64Array


class Stream:
    """Batches of one epoch from `start` on. Not for several threads at once.

    It closes itself at the end of the epoch; whoever hands it out closes it when it is abandoned.
    Where it stands, and what went wrong, can be asked for in any case.

    Attributes:
        epoch: its number. Its random numbers are those of `key_epoch` where that is given.
    """

    def __init__(
        self,
        native: _core.Loader,
        epoch: int,
        start: int = 0,
        order: Int64Array | None = None,
        seed: int | None = None,
        *,
        key_epoch: int | None = None,
        ahead: bool = True,
        cursors: bytes = b"",
        bad_samples_file: BadSamplesFile | None = None,
        device: str | None = None,
    ) -> None:
        """Begins a pass.

        Args:
            native: what makes the batches.
            epoch: see the attributes, as for `key_epoch`.
            start: the position that it begins at.
            order: of the records, in the place of the description's.
            seed: in the place of the description's.
            key_epoch: which epoch's random numbers are drawn.
            ahead: False: rows of arrays are read when their batch is asked for.
            cursors: where streams of packed text stood there.
            bad_samples_file: where bad samples are written down.
            device: what finishes the batches where it can, as the core calls it; whether it does,
                ``native.on_device`` says.

        Raises:
            PipelineError: there can be no such pass.
        """
        self.epoch = epoch
        self._bad_samples_file = bad_samples_file
        self._written = 0  # bad samples that stand in the file
        self._start = start
        try:
            self._native = native.iterate(
                epoch if key_epoch is None else key_epoch,
                start,
                order,
                seed,
                ahead,
                cursors,
                device or "",
            )
        except ValueError as error:
            raise PipelineError(str(error)) from None

    def next(self) -> _core.Batch:
        """The next batch.

        Raises:
            StopIteration: the epoch is over.
            SampleError: a sample of this batch is bad; the next call goes on behind the batch.
        """
        try:
            return self._native.next()
        except StopIteration:
            self.close()
            raise
        except _core.SampleError as error:
            raise SampleError(*error.args) from None
        finally:
            self._write_bad_samples()

    def consumed_outside(self) -> None:
        """Says that `next` is called ahead of the training step.

        Whoever hands out the batches calls `asks` when one is asked for, and `gives` when it is
        given: the time between is the training's stall.
        """
        self._native.consumed_outside()

    def asks(self) -> None:
        """The training step asks for its next batch."""
        self._native.asks()

    def gives(self) -> None:
        """The training step is given the batch, or the error in its place."""
        self._native.gives()

    def _write_bad_samples(self) -> None:
        if self._bad_samples_file is not None:
            entries = self._native.bad_samples(self._written)
            self._written += len(entries)
            self._bad_samples_file.append(self.epoch, entries)

    @property
    def ready(self) -> bool:
        """Whether `next` would not wait."""
        return self._native.ready

    @property
    def left(self) -> int:
        """Steps that are still to come."""
        return self._native.left

    @property
    def place(self) -> tuple[int, int]:
        """Where to go on after the batches yielded: (epoch, position)."""
        if self._native.left == 0:
            return self.epoch + 1, 0
        return self.epoch, max(self._start, self._native.position)

    def cursors(self, position: int) -> bytes:
        """Where packed text stood at a position, for a stream that begins there."""
        return self._native.cursors(position)

    def bad_samples(self) -> list[BadSample]:
        """The bad samples so far."""
        return [BadSample.from_json(entry) for entry in self._native.bad_samples()]

    def large_pictures(self) -> list[int]:
        """Pixels of the pictures in the batches yielded of which Pillow warns; of each once."""
        return self._native.take_large_pictures()

    def close(self) -> None:
        """Stops working ahead and lets go of all memory but the batches that were yielded."""
        self._native.close()
