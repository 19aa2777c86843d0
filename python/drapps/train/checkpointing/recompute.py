"""One run of a block that is recomputed in the backward pass.

``torch.utils.checkpoint`` does the work and restores random states and autocast. Added here:
buffers are as they were before the first run, and are written by that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

PLAIN = (
    *(torch.Tensor, torch.Size, torch.dtype, torch.device),
    *(bool, int, float, complex, str, bytes, type(None)),
)

Buffers = list[tuple[dict[str, Any], str, torch.Tensor]]  # who holds it, under which name, a copy


def is_plain(values: Any) -> bool:
    """Whether these are tensors and numbers alone, which a second run finds as the first did.

    A cache of keys and values is none: the first run has changed it.
    """
    return all(isinstance(each, PLAIN) for each in tree_leaves(values))


def recomputed(
    forward: Callable[..., Any],
    modules: Sequence[nn.Module],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Any:
    """Runs a block, and once more in the backward pass.

    Args:
        forward: runs it.
        modules: that it consists of.
        args: what it is given.
        kwargs: what it is given by name.
        around: within which it runs again.
    """
    run = _Run(forward, modules, len(args), list(kwargs), around)
    return checkpoint(run, *args, *kwargs.values(), use_reentrant=False)


class _Run:
    """Called once by the forward pass, and then by the backward pass."""

    def __init__(
        self,
        forward: Callable[..., Any],
        modules: Sequence[nn.Module],
        count: int,
        names: list[str],
        around: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._forward = forward
        self._modules = modules
        self._count = count
        self._names = names
        self._around = around
        self._before: Buffers | None = None

    def __call__(self, *values: Any) -> Any:
        args = values[: self._count]
        kwargs = dict(zip(self._names, values[self._count :], strict=True))
        if self._before is None:
            before = [
                (held, name, buffer, -1 if unseen else buffer._version, buffer.detach().clone())
                for held, name, buffer, unseen in _buffers(self._modules)
            ]
            output = self._forward(*args, **kwargs)
            self._before = [
                (held, name, copy)
                for held, name, buffer, version, copy in before
                if held[name] is not buffer or buffer._version != version
            ]
            return output
        with _as_they_were(self._before), self._around():
            return self._forward(*args, **kwargs)


def _buffers(
    modules: Iterable[nn.Module],
) -> Iterator[tuple[dict[str, Any], str, torch.Tensor, bool]]:
    """Buffers with who holds them, their names, and whether writes to them may go unseen.

    Batch norm does not count its writes to running statistics as versions of the tensors.
    """
    for module in modules:
        for each in module.modules():
            for name, buffer in each._buffers.items():
                if buffer is not None:
                    unseen = each.training and name.startswith("running_")
                    yield each._buffers, name, buffer, unseen


@contextmanager
def _as_they_were(before: Buffers) -> Iterator[None]:
    now = [(held, name, held[name]) for held, name, _ in before]
    copies = {id(buffer): old for (_, _, buffer), (_, _, old) in zip(now, before, strict=True)}
    copies = {key: old.clone() for key, old in copies.items()}  # it may run a third time
    try:
        for held, name, buffer in now:
            held[name] = copies[id(buffer)]
        yield
    finally:
        for held, name, buffer in now:
            held[name] = buffer
