"""Waits as ranges of torch's profiler and of NVTX, to be seen beside all else that is traced."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

NAME = "drapps.watch: next"
VARIABLE = "DRAPPS_WATCH_RANGES"
WANTED = os.environ.get(VARIABLE) == "1"


def opened() -> contextlib.ExitStack | None:
    """A range that begins here, to be closed in the same thread; None where none is wanted."""
    torch: Any = sys.modules.get("torch")
    if not WANTED or torch is None:
        return None
    stack = contextlib.ExitStack()
    stack.enter_context(torch.autograd.profiler.record_function(NAME))
    if torch.cuda.is_initialized():
        torch.cuda.nvtx.range_push(NAME)
        stack.callback(torch.cuda.nvtx.range_pop)
    return stack
