"""Models and optimizers of which each rank holds a part: no step here can be made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from drapps.errors import PipelineError

_SHARDS = {
    "DTensor",
    "DeepSpeedEngine",
    "DeepSpeedOptimizer",
    "FSDPModule",
    "FullyShardedDataParallel",
    "ZeroRedundancyOptimizer",
}
_PACKAGES = ("torch.distributed", "deepspeed")


def refuse_sharded(
    model: torch.nn.Module | Iterable[torch.nn.Parameter],
    optimizer: torch.optim.Optimizer | None = None,
    *known: str,
) -> None:
    """Nothing happens where every rank has all of a model and of its optimizer.

    Args:
        model: or parameters.
        optimizer: of them.
        known: names of what is known to shard.

    Raises:
        PipelineError: it does not; the message says what shards, and what to use.
    """
    for name in (*known, *map(sharding_of, _parts(model, optimizer))):
        if name:
            raise PipelineError(
                f"{name} leaves each rank with a part of the parameters or of the optimizer's "
                "state, and norms of gradients, clipping and skipped steps here are of whole ones: "
                "use DistributedDataParallel and a plain optimizer, or make the step by what shards"
            )


def sharding_of(part: object) -> str:
    """The name of what shards a module, parameter or optimizer; empty where nothing does.

    Classes are told by their names, so that nothing is imported which the user has not.
    """
    if hasattr(part, "ds_id"):  # a parameter under DeepSpeed's ZeRO 3
        return "DeepSpeed"
    for base in type(part).__mro__:
        if base.__name__ in _SHARDS and base.__module__.startswith(_PACKAGES):
            return base.__name__
    return ""


def _parts(
    model: torch.nn.Module | Iterable[torch.nn.Parameter], optimizer: torch.optim.Optimizer | None
) -> Iterator[object]:
    if optimizer is not None:
        yield optimizer
    if isinstance(model, torch.nn.Module):
        yield from model.modules()
        yield from model.parameters()
    else:
        yield from model
