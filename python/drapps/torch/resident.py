"""Arrays that live on a device: batches that the core makes there become tensors of torch's."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch._utils import ExceptionWrapper

from drapps.torch.destination import Destination, with_index


class ResidentBatches(Destination):
    """Copies of batches within a device's memory, by a stream of their own.

    The core uses the memory of a batch again as soon as its copy is made; what the consumer has is
    torch's own memory, as any other tensor's.
    """

    def __init__(self, device: torch.device) -> None:
        """Uses no device before the first batch."""
        self._device = device
        self._stream: Any = None
        self._copied: deque[tuple[list[torch.Tensor], Any]] = deque()  # and the event behind it

    def begin(self) -> None:
        """Nothing: no thread is needed."""

    def put(self, data: list[torch.Tensor]) -> Any:
        """The copies, begun; or a failure."""
        try:
            while self._copied:
                self._copied.popleft()[1].synchronize()
            if data[0].device.type == "cpu":  # as the device of tests
                return [tensor.clone() for tensor in data], None
            if self._stream is None:
                self._stream = torch.cuda.Stream(data[0].device)  # type: ignore[no-untyped-call]
            with torch.cuda.stream(self._stream):
                copies = [tensor.clone() for tensor in data]
                event = self._stream.record_event()
            self._copied.append((data, event))
            return copies, event
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
