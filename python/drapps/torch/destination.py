"""Where batches go beside the training step: into pinned memory, or from there onto a device."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data._utils.pin_memory import pin_memory

from drapps.errors import PipelineError

if TYPE_CHECKING:
    from torch.utils.data.dataloader import _BaseDataLoaderIter


class Destination(ABC):
    """Takes batches on the transfer thread, and gives them to the consumer on its own thread."""

    @abstractmethod
    def begin(self) -> None:
        """Called on the transfer thread, before all else there."""

    @abstractmethod
    def put(self, data: Any) -> Any:
        """Begins to bring a batch to its destination. What fails is given in its place."""

    @abstractmethod
    def take(self, put: Any) -> Any:
        """The batch for the thread and the stream that call: or what `put` gave for a failure."""


class PinnedMemory(Destination):
    """Page-locked memory, from where the consumer's copies are asynchronous."""

    def __init__(self, device: str | None) -> None:
        """Pins for the current accelerator, whose type is `device`."""
        self._device = device
        self._index = torch.accelerator.current_device_index()
        self._where = f"in pin memory thread for device {self._index}"

    def begin(self) -> None:
        """Makes the consumer's accelerator that of the thread."""
        torch.accelerator.set_device_index(self._index)

    def put(self, data: Any) -> Any:
        """The batch in pinned memory."""
        try:
            return pin_memory(data, self._device)  # type: ignore[no-untyped-call]
        except Exception:
            return ExceptionWrapper(where=self._where)  # type: ignore[no-untyped-call]

    def take(self, put: Any) -> Any:
        """The batch as it is."""
        return put


@dataclass(frozen=True)
class OnItsWay:
    """A batch whose copies may not have ended: `event` is behind them; None where none began.

    Attributes:
        data: tensors on the device, and what moves itself where it was.
        tensors: those whose copies the event is behind.
        event: on the stream of the copies.
    """

    data: Any
    tensors: list[torch.Tensor]
    event: Any


class DeviceMemory(Destination):
    """The memory of an accelerator.

    Tensors in mappings, tuples and other sequences, however they are nested, are copied from pinned
    memory on a stream of their own, so that copies and the training step overlap; the consumer's
    stream waits for the copies, the host does not. The memory of a batch serves another one when
    the work that the consumer's stream had when the batch was dropped has ended. Objects with a
    method ``to`` move themselves when they are taken. All else stays as it is.
    """

    def __init__(self, device: torch.device) -> None:
        """Uses no device before the first batch."""
        self._device = device
        self._module = torch.get_device_module(device)
        self._stream: Any = None
        self._warned = False

    def begin(self) -> None:
        """Nothing: the device is named wherever it is needed."""

    def put(self, data: Any) -> Any:
        """`OnItsWay`, or a failure."""
        try:
            pinned = self._pinned(data)
            try:
                return self._sent(pinned)
            except torch.OutOfMemoryError:
                self._warn()
                return OnItsWay(pinned, [], None)
        except Exception:
            where = f"in transfer thread for device {self._device}"
            return ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]

    def take(self, put: Any) -> Any:
        """The batch on the device, for the current stream of the calling thread."""
        if not isinstance(put, OnItsWay):
            return put
        if put.event is None:
            return map_batch(put.data, self._moved)
        stream = self._module.current_stream(self._device)
        stream.wait_event(put.event)
        for tensor in put.tensors:
            self._keep(tensor, stream)
        return map_batch(put.data, lambda leaf: leaf if _is_tensor(leaf) else self._moved(leaf))

    def _sent(self, pinned: Any) -> OnItsWay:
        if not hasattr(self._module, "Stream"):  # as of Apple's devices
            return OnItsWay(pinned, [], None)
        if self._stream is None:
            self._stream = self._module.Stream(self._device)
        tensors: list[torch.Tensor] = []

        def send(leaf: Any) -> Any:
            if not _is_tensor(leaf):
                return leaf
            tensors.append(self._copied(leaf))
            return tensors[-1]

        with self._module.stream(self._stream):
            data = map_batch(pinned, send)
            return OnItsWay(data, tensors, self._stream.record_event())

    def _moved(self, leaf: Any) -> Any:
        """The leaf on the device, by the stream that is current."""
        if _is_tensor(leaf):
            return self._copied(leaf)
        try:
            return leaf.to(self._device, non_blocking=True)
        except TypeError:
            return leaf.to(self._device)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._device} has no memory left for batches ahead of the training step: they "
                "are copied when they are taken; a smaller batch or model leaves room",
                RuntimeWarning,
                stacklevel=2,
            )

    def _pinned(self, data: Any) -> Any:
        return pin_memory(data)  # type: ignore[no-untyped-call]

    def _copied(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._device, non_blocking=True)

    def _keep(self, tensor: torch.Tensor, stream: Any) -> None:
        """The stream uses the tensor from now on."""
        tensor.record_stream(stream)


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor)


def map_batch(data: Any, leaf: Callable[[Any], Any]) -> Any:
    """A batch whose tensors, and objects with a method ``to``, are what `leaf` makes of them.

    Containers are made again as ``torch.utils.data``'s pinning makes them.
    """
    if _is_tensor(data) or callable(getattr(data, "to", None)):
        return leaf(data)
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        items = {key: map_batch(value, leaf) for key, value in data.items()}
        return _rebuilt(data, items, MutableMapping)
    if isinstance(data, tuple):
        values = [map_batch(value, leaf) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    if isinstance(data, Sequence):
        return _rebuilt(data, [map_batch(value, leaf) for value in data], MutableSequence)
    return data


def _rebuilt(data: Any, values: Any, mutable: type) -> Any:
    """A container like `data` with other values; a plain one where its class makes none."""
    try:
        if not isinstance(data, mutable):
            return type(data)(values)
        clone: Any = copy.copy(data)
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            clone[key] = value
    except TypeError:
        return values
    return clone


def device_of(device: Any) -> torch.device | None:
    """What ``device=`` names; None for the CPU, where batches are anyway.

    Raises:
        PipelineError: it names none.
    """
    try:
        target = torch.device(device)
        torch.get_device_module(target)
    except (RuntimeError, TypeError) as error:
        raise PipelineError(
            f"device={device!r} names no device ({error}); write 'cuda', 'cuda:0' or 'cpu'"
        ) from None
    return None if target.type == "cpu" else target


def destination_of(
    device: torch.device | None, iterator: _BaseDataLoaderIter
) -> Destination | None:
    """Where the batches of an iterator go; None where they stay where they are made.

    Raises:
        PipelineError: the device is not there.
    """
    if device is not None:
        return device_memory(device)
    return PinnedMemory(iterator._pin_memory_device) if iterator._pin_memory else None


def device_memory(device: torch.device) -> DeviceMemory:
    """The memory of a device, or of the current one where it has no index.

    Raises:
        PipelineError: the device is not there.
    """
    return DeviceMemory(with_index(device))


def with_index(device: torch.device) -> torch.device:
    """A device that is there; the current one where it has no index.

    Raises:
        PipelineError: the device is not there.
    """
    kind = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    there = torch.accelerator.device_count() if kind and kind.type == device.type else 0
    if (device.index or 0) >= there:
        raise PipelineError(
            f"device={str(device)!r} is not there: torch {torch.__version__} finds {there} devices "
            f"of the type {device.type}"
        )
    index = torch.accelerator.current_device_index() if device.index is None else device.index
    return torch.device(device.type, index)


def at_once(destination: Destination | None, data: Any) -> Any:
    """A batch at its destination, without a transfer thread. Raises what fails."""
    if destination is None:
        return data
    there = destination.take(destination.put(data))
    if isinstance(there, ExceptionWrapper):
        there.reraise()  # type: ignore[no-untyped-call]
    return there
