"""What of Grain's iteration is a user's, and what is a part of a pipeline."""

from __future__ import annotations

import sys

_PASSED = "grain._src.python.dataset.dataset"  # whose functions begin the iteration of others


def within_pipeline() -> bool:
    """Whether a part of Grain itself iterates a dataset, such as what interleaves several."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
        if module.startswith("drapps.") or module == _PASSED:
            continue
        return bool(module.startswith("grain."))
    return False
