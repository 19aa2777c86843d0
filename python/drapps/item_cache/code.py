"""What is known of a user's code without running it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


def is_users(module: str | None) -> bool:
    """Whether a module is the user's own: not Python's, none that was installed, and not ours."""
    if module in ("__main__", "__mp_main__"):  # in a worker it may be another file
        return True
    if top_of(module) in sys.stdlib_module_names or top_of(module) == "drapps":
        return False
    return _is_users_file(getattr(sys.modules.get(module or ""), "__file__", None))


@functools.lru_cache(maxsize=4096)
def _is_users_file(file: str | None) -> bool:
    return file is None or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def top_of(module: str | None) -> str:
    """The package of a module."""
    return (module or "").partition(".")[0]


def names_in(code: CodeType) -> Iterator[str]:
    """Global names and attributes that code uses, and so does what is defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def contents_of(function: FunctionType) -> Iterator[Any]:
    """What is in the closure of a function."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not yet filled
            yield cell.cell_contents
