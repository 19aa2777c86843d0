"""How many bytes of tensors live, and which tensors were made within a step."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the storages that operations make while it is active.

    What operations allocate for themselves and give back is not seen on the CPU. On a GPU the
    allocator of torch says what lives, and this class only which storages are new.

    Attributes:
        sizes: bytes of each storage that was made, by its number, also after its end.
        casts: storages that are copies of tensors from before in another type, as autocast makes
            them of parameters.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: dict[int, int] = {}
        self.casts: set[int] = set()
        self._numbers: dict[int, int] = {}  # of storages that live, by their address
        self._live = 0
        self._peak = 0
        self._gpu = device if device.type == "cuda" else None
        self._before = torch.cuda.memory_allocated(device) if self._gpu is not None else 0

    @property
    def live(self) -> int:
        """Bytes that live now, above what lived at the beginning."""
        if self._gpu is not None:
            return torch.cuda.memory_allocated(self._gpu) - self._before
        return self._live

    @property
    def peak(self) -> int:
        """The most bytes that lived since `mark` was called."""
        if self._gpu is not None:
            return torch.cuda.max_memory_allocated(self._gpu) - self._before
        return self._peak

    def mark(self) -> None:
        """`peak` begins anew."""
        if self._gpu is not None:
            torch.cuda.reset_peak_memory_stats(self._gpu)
        self._peak = self._live

    def number(self, tensor: torch.Tensor) -> int | None:
        """Of a tensor's storage; None where it was not made while this was active."""
        storage = _storage(tensor)
        return None if storage is None else self._numbers.get(storage._cdata)

    def numbers(self, values: Any) -> set[int]:
        """Of all tensors in nested tuples, lists and dictionaries."""
        storages = (self.number(tensor) for tensor in tensors_in(values))
        return {number for number in storages if number is not None}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        known: set[int] | None = None
        for tensor in tensors_in(output):
            storage = _storage(tensor)
            if storage is None or storage._cdata in self._numbers:
                continue
            if known is None:
                given = (_storage(each) for each in tensors_in((args, kwargs)))
                known = {each._cdata for each in given if each is not None}
            if storage._cdata not in known:
                if func is torch.ops.aten._to_copy.default and self.number(args[0]) is None:
                    self.casts.add(len(self.sizes))
                self._add(storage)
        return output

    def _add(self, storage: torch.UntypedStorage) -> None:
        size = storage.nbytes()
        number = len(self.sizes)
        self.sizes[number] = size
        self._numbers[storage._cdata] = number
        self._live += size
        self._peak = max(self._peak, self._live)
        weakref.finalize(storage, self._gone, storage._cdata).atexit = False

    def _gone(self, address: int) -> None:
        self._live -= self.sizes[self._numbers.pop(address)]


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    """All tensors in nested tuples, lists and dictionaries."""
    return (each for each in tree_leaves(values) if isinstance(each, torch.Tensor))


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return None
    return tensor.untyped_storage()
