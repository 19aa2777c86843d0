"""One batch: named tensors in one block of memory that belongs to whoever holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch

    from drapps import _core

PADDED = 1  # bit of ``flags``: a row repeated so that every rank takes equal steps
REPLACED = 2  # bit of ``flags``: a row that stands for a sample that could not be read
_HOST = 1  # DLPack's kDLCPU


class Batch(Mapping[str, "_core.Tensor"]):
    """The tensors of one batch by name.

    There are always ``image``, ``index``, ``position`` and ``flags``. ``image`` is
    ``(rows, channels, height, width)`` or ``(rows, height, width, channels)`` in the
    dtype that ``Pipeline.to`` names; ``label``, ``index`` (in the source) and ``position`` (in the
    epoch's global order) are int64 of ``(rows,)``; ``flags`` is uint8 of ``(rows,)`` with the bits
    `PADDED` and `REPLACED`. Sources add what they
    have: ``label``, ``mask``, ``boxes``, ``box_labels`` and
    ``box_counts``. Where batches are mixed, ``label`` is float32 of ``(rows, num_classes)``.

    Every tensor speaks DLPack and the buffer protocol. It is writable and nobody else's, and it
    lives as long as any view of it does.
    """

    __slots__ = ("_tensors", "rows")

    def __init__(self, native: _core.Batch) -> None:
        self._tensors: dict[str, _core.Tensor] = native.tensors
        self.rows: int = native.rows

    def __getitem__(self, name: str) -> _core.Tensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}: {t.dtype}{list(t.shape)}" for name, t in self.items())
        return f"Batch({inside})"

    def numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """The tensors as writable arrays, without a copy.

        Raises:
            TypeError: for bfloat16, which NumPy does not have.
        """
        import numpy as np

        for name, tensor in self.items():
            if tensor.dtype == "bfloat16":
                raise TypeError(f"NumPy has no bfloat16, which {name!r} is: use .torch()")
        return {name: np.asarray(tensor) for name, tensor in self.items()}

    def torch(self) -> dict[str, torch.Tensor]:
        """The tensors as ``torch.Tensor``, without a copy."""
        return dict(zip(self._tensors, torch_tensors(self._tensors.values()), strict=True))


def torch_tensors(tensors: Iterable[_core.Tensor]) -> list[torch.Tensor]:
    """The tensors as ``torch.Tensor``, without a copy."""
    import torch.utils.dlpack

    # A capsule is asked for here: from_dlpack takes as long as all else to find out that memory is
    # the host's, and that no stream has to wait.
    from_dlpack = torch.utils.dlpack.from_dlpack
    return [
        from_dlpack(each.__dlpack__() if each.__dlpack_device__()[0] == _HOST else each)
        for each in tensors
    ]
