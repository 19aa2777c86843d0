"""Processes that a script starts by ``torch.multiprocessing.spawn``, watched as the script is."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from drapps.cli.loaders_made import Seen, Watch

_GRACE = 30.0  # seconds that the others have once one of them has told what it made


class Call:
    """What each process is to call: a function and its arguments.

    A process that is not forked imports the script again, which must not happen before it is
    watched: what is of the script is made anew only by `opened`.
    """

    def __init__(self, call: tuple[Any, Any], main: tuple[str, str]) -> None:
        """`main` is how the script was called: its file, or its name as a module."""
        self._call = call
        self._main = main

    def __reduce__(self) -> Any:
        return _Sent, (bytes(ForkingPickler.dumps(self._call)), *self._main)

    def opened(self) -> tuple[Any, Any]:
        """The function and its arguments."""
        return self._call


class _Sent:
    """A `Call` in a process that was not forked."""

    def __init__(self, pickled: bytes, path: str, module: str) -> None:
        self._pickled = pickled
        self._path, self._module = path, module

    def opened(self) -> tuple[Any, Any]:
        name = "__mp_main__"
        main = types.ModuleType(name)
        if self._module:
            content = runpy.run_module(self._module, run_name=name, alter_sys=True)
        else:
            content = runpy.run_path(self._path, run_name=name)
        main.__dict__.update(content)
        sys.modules["__main__"] = sys.modules[name] = main
        call: tuple[Any, Any] = ForkingPickler.loads(self._pickled)
        return call


def watched(number: int, call: Call | _Sent, folder: str) -> None:
    """Runs in a process that the script starts, and ends that process."""

    def tell(_seen: list[Seen], _why: str) -> int:
        watch.leave(number)
        return 0

    watch = Watch(Path(folder), tell, _not_again)
    with watch.watching():
        try:
            function, arguments = call.opened()
            function(number, *arguments)
        except BaseException as error:
            if not isinstance(error, SystemExit):
                traceback.print_exc()
            watch.leave(number)
            os._exit(1)
        watch.end("it ended")


def _not_again(*_: Any) -> str:
    """In the place of `run_children`: a script without a main guard would start them for ever."""
    return "which are not looked into"


def run_children(
    start: Callable[..., Any],
    folder: Path,
    call: tuple[Any, Any],
    count: int,
    how: dict[str, Any],
) -> str:
    """Runs a script's processes up to the first ``iter()`` of each.

    Args:
        start: torch's ``start_processes``.
        folder: where they leave what they make.
        call: the function and the arguments of each.
        count: of processes.
        how: they are started: ``daemon`` and ``start_method``.

    Returns:
        What became of them, in a sentence that goes on.
    """
    with _main_unnamed() as main:
        target = Call(call, main)
        context = start(watched, (target, str(folder)), count, join=False, **how)
    processes = context.processes
    until = float("inf")
    while (left := [each for each in processes if each.is_alive()]) and time.monotonic() < until:
        connection.wait([each.sentinel for each in left], timeout=1.0)
        if until == float("inf") and any(folder.glob("*.json")):
            until = time.monotonic() + _GRACE
    for process in left:
        process.kill()
    for process in processes:
        process.join()
    failed = sum(process.exitcode not in (0, None) for process in processes if process not in left)
    if not failed:
        return f"of which {count} ran up to their first iter() or to their end"
    return f"of which {failed} of {count} failed before an iter(); what they said stands on stderr"


@contextlib.contextmanager
def _main_unnamed() -> Iterator[tuple[str, str]]:
    """While it lasts, a process that is spawned does not know the script, whose name this gives."""
    main: Any = sys.modules["__main__"]
    spec, path = main.__spec__, getattr(main, "__file__", None)
    main.__spec__ = main.__file__ = None
    try:
        yield str(Path(path or "").resolve()), "" if spec is None else spec.name
    finally:
        main.__spec__, main.__file__ = spec, path
