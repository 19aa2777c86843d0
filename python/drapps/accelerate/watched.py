"""Whether somebody looks at what torch does while a sample is made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from drapps.attributes import attribute_of


def is_watched() -> bool:
    """Whether something looks at what torch does, or changes that."""
    hooks, modes = _watchers()
    return any(hooks) or any(mode() for mode in modes)


@functools.cache
def _watchers() -> tuple[tuple[Any, ...], tuple[Callable[[], Any], ...]]:
    """Where torch keeps its global hooks, and what says how many look."""
    import torch

    names = [f"_global_{each}_hooks" for each in ("forward", "backward")]
    names += [f"_global_{each}_pre_hooks" for each in ("forward", "backward")]
    modes = ("_len_torch_function_stack", "_len_torch_dispatch_stack", "_get_tracing_state")
    hooks = torch.nn.modules.module
    return (
        tuple(attribute_of(hooks, name, True) for name in names),
        tuple(attribute_of(torch._C, name, lambda: True) for name in modes),
    )
