"""Arrays that live on a device: batches that the core makes there become tensors of torch's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper

from drapps.errors import SampleError
from drapps.torch.ahead import tensors_of
from drapps.torch.destination import Destination, with_index

if TYPE_CHECKING:
    from drapps import _core


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
        """The copies, begun; or a failure."""
        try:
            if not data.on_gpu:  # as the device of tests
                return [tensor.clone() for tensor in tensors_of(data)], None
            if self._stream is None:
                self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
            with torch.cuda.stream(self._stream):
                copies = [tensor.clone() for tensor in tensors_of(data)]
                return copies, self._stream.record_event()
        except SampleError:
            raise
        except Exception:
            where = f"in copying a batch within device {self._device}"
            return ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]

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
