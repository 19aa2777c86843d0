"""Batches that the core makes or finishes on a device become tensors of torch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.dlpack import from_dlpack

from drapps.errors import SampleError
from drapps.torch.destination import Destination, with_index

if TYPE_CHECKING:
    from drapps import _core


_CUDA = 2  # as DLPack calls the type of such a device


class ResidentBatches(Destination):
    """Copies of batches within a device's memory, by a stream of their own.

    That stream waits for the core's, and the core uses the memory of a batch again behind the copy:
    the host waits for neither. What the consumer has is torch's own memory, as any other tensor's.
    """

    def __init__(self, device: torch.device) -> None:
        """Uses no device before the first batch."""
        self._device = device
        self._stream: Any = None

    def begin(self) -> None:
        """Nothing: no thread is needed."""

    def put(self, data: _core.Batch) -> Any:
        """The copies of what its samples hold, begun; or a failure."""
        return self.put_tensors(data.content)

    def put_tensors(self, tensors: Sequence[_core.Tensor]) -> Any:
        """The copies of some tensors of a batch, begun; or a failure."""
        try:
            if any(tensor.__dlpack_device__()[0] != _CUDA for tensor in tensors):
                return [from_dlpack(tensor).clone() for tensor in tensors], None  # in tests
            if self._stream is None:
                self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
            with torch.cuda.stream(self._stream):
                copies = [from_dlpack(tensor).clone() for tensor in tensors]
                return copies, self._stream.record_event()
        except SampleError:
            raise
        except Exception:
            where = f"in copying a batch within device {self._device}"
            return ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]

    def taken(self, tensors: Sequence[_core.Tensor]) -> list[torch.Tensor]:
        """The copies at once. Raises what fails."""
        there = self.take(self.put_tensors(tensors))
        if isinstance(there, ExceptionWrapper):
            there.reraise()  # type: ignore[no-untyped-call]
        copies: list[torch.Tensor] = there
        return copies

    def take(self, put: Any) -> Any:
        """Tensors for the current stream of the calling thread, which waits for the copies."""
        if isinstance(put, ExceptionWrapper):
            return put
        copies, event = put
        if event is not None:
            stream = torch.cuda.current_stream(copies[0].device)
            stream.wait_event(event)
            for tensor in copies:
                tensor.record_stream(stream)
        return copies


def core_name(device: torch.device) -> str:
    """How the core calls a device of torch's.

    Raises:
        PipelineError: the device is not there.
    """
    return str(with_index(device))
