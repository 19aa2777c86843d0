"""Which loader is measured how."""

from __future__ import annotations

import sys
from typing import Any

from drapps.analysis.loaders import AnyLoader, TorchLoader
from drapps.analysis.other_loaders import (
    GrainDataset,
    GrainLoader,
    NativeLoader,
    TensorflowLoader,
)
from drapps.errors import PipelineError

# How a loader is measured, by its module and its class.
_OTHERS: dict[tuple[str, str], type[AnyLoader]] = {
    ("drapps.loader", "Loader"): NativeLoader,
    ("tensorflow.python.data.ops.dataset_ops", "DatasetV2"): TensorflowLoader,
    ("grain._src.python.data_loader", "DataLoader"): GrainLoader,
    ("grain._src.python.dataset.dataset", "IterDataset"): GrainDataset,
}


def loader_of(loader: Any, depth: int | None = None) -> AnyLoader:
    """A loader as it is measured.

    Args:
        loader: anything that can be iterated.
        depth: batches that may be ready ahead, where nothing else tells.

    Raises:
        PipelineError: it cannot be iterated.
    """
    torch = sys.modules.get("torch.utils.data")
    if torch is not None and isinstance(loader, torch.DataLoader):
        return TorchLoader(loader)
    for (module, name), measured in _OTHERS.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(loader, kind):
            wrapper = measured(loader)
            wrapper.depth = wrapper.depth if depth is None else depth
            return wrapper
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise PipelineError(f"a {type(loader).__name__} cannot be iterated, so not be analyzed")
    return AnyLoader(loader, 1 if depth is None else depth)
