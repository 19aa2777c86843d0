"""One batch: named tensors in one block of memory that belongs to whoever holds them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch

    from drapps import _core

PADDED = 1  # bit of ``flags``: a row repeated so that every rank takes equal steps
REPLACED = 2  # bit of ``flags``: a row that stands for a sample that could not be read


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

    __slots__ = ("_all", "_native", "rows")

    def __init__(self, native: _core.Batch) -> None:
        self._native = native
        self._all: dict[str, _core.Tensor] | None = None
        self.rows: int = native.rows

    @property
    def _tensors(self) -> dict[str, _core.Tensor]:
        if self._all is None:
            self._all = self._native.tensors
        return self._all

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
        return dict(zip(self._native.names, torch_tensors(self._native), strict=True))


def torch_tensors(native: _core.Batch, content: bool = False) -> list[torch.Tensor]:
    """The tensors of a batch, or those of its content, as ``torch.Tensor``, without a copy."""
    # Capsules are asked for here, all at once: from_dlpack takes as long as all else to find out
    # that memory is the host's, and that no stream has to wait.
    views: Iterable[Any] | None = native.capsules(content)
    if views is None:
        views = native.content if content else native.tensors.values()
    return list(map(_from_dlpack(), views))


@functools.cache
def _from_dlpack() -> Callable[[Any], torch.Tensor]:
    import torch.utils.dlpack

    return torch.utils.dlpack.from_dlpack
