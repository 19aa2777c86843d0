"""The iterator of a lifted loader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps.placement import warn_of_device
from drapps.torch.ahead import AheadStream, tensors_of
from drapps.torch.destination import Destination, at_once, destination_of
from drapps.torch.pictures import warn_of_large
from drapps.torch.resident import ResidentBatches, core_name
from drapps.torch.transfer import TransferThread

if TYPE_CHECKING:
    from drapps.adapter import ConsumerMarks
    from drapps.monitor.observing import Observer
    from drapps.torch.base import IteratedLoader
    from drapps.torch.native import AnyStream, Native


class LiftedIterator(_BaseDataLoaderIter):
    """One pass over one epoch: ``[images, labels]`` per batch, as `default_collate` gives them.

    The base class draws the base seed, decides about pinning and records profiler ranges exactly as
    it does for the stock iterators. An exception does not end the iteration.
    """

    _workers: tuple[Any, ...] = ()  # stock iterators with workers have processes here
    observer: Observer | None = None  # of the loader

    def __init__(self, loader: IteratedLoader[Any], native: Native) -> None:
        super().__init__(loader)
        self._device = loader._device
        self._destination: Destination | None = None
        self._finishes: str | None = None  # the device that finishes batches where it can
        if not native.resident:
            self._destination = destination_of(self._device, self)
            if self._device is not None:
                self._finishes = core_name(self._device)
        self._pass = loader._begin(int(self._base_seed), native)
        self._stream: AnyStream | None = None
        self._marks: ConsumerMarks | None = None
        self._transfer: TransferThread | None = None
        if self._num_workers > 0:
            self.stream()  # as stock workers, which read ahead from here on

    def __del__(self) -> None:
        if getattr(self, "_stream", None) is not None:
            self.stream().close()
        transfer = getattr(self, "_transfer", None)
        if transfer is not None:
            transfer.close()

    def _reset(self, loader: IteratedLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if self._stream is not None:
            self._stream.close()
        self._marks = None
        self._pass = loader._begin(self._pass.seed, since=self._pass.key_epoch + 1)
        self._stream = None
        self.stream()

    def stream(self) -> AnyStream:
        """The native iterator, begun at first use."""
        if self._stream is None:
            self._stream = self._begun()
        return self._stream

    def _begun(self) -> AnyStream:
        stream = self._pass.begin(self._finishes)
        self._stream = stream  # which is closed where what follows fails
        self._settle()
        if self._destination is None or isinstance(stream, AheadStream):
            return stream
        if self._num_workers > 0 and not isinstance(self._destination, ResidentBatches):
            if self._transfer is None:
                self._transfer = TransferThread(self._destination)
            return self._pass.sent_ahead(stream, self._transfer)
        stream.consumed_outside()
        self._marks = stream
        return stream

    def _settle(self) -> None:
        """Where batches go, now that a device makes or finishes them, or not."""
        native = self._pass.native
        if not native.resident and self._finishes is None:
            return
        warn_of_device(native.core)
        if native.core.on_device and self._device is not None:
            self._destination = ResidentBatches(self._device)
        else:
            self._destination = destination_of(self._device, self)

    def __next__(self) -> Any:
        # The base class makes a profiler range per batch, within which the GIL goes: where the
        # interpreter ends just then, a daemon thread takes the whole process with it.
        if torch._C._autograd._profiler_enabled():
            return super().__next__()
        data = self._next_data()
        self._num_yielded += 1
        return data

    def _next_data(self) -> Any:
        stream = self.stream()
        marks = self._marks
        if marks is None:
            return self._taken(stream)
        marks.asks()
        try:
            return self._taken(stream)
        finally:
            marks.gives()

    def _taken(self, stream: AnyStream) -> Any:
        try:
            data = stream.next()
        except StopIteration:
            warn_of_device(self._pass.native.core)
            raise
        finally:
            self._pass.stepped()
            warn_of_large(stream.large_pictures())
        if isinstance(stream, AheadStream):
            return data
        resident = isinstance(self._destination, ResidentBatches)
        return at_once(self._destination, data if resident else tensors_of(data))
