"""What ``drapps analyze`` does within the script of a training: its first loader is measured.

The first loader that is iterated while gradients are wanted, or a later one that was asked for,
gives the batches of a `Session` in place of its own. Behind them the script is ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drapps.analysis import iterating
from drapps.analysis.journal import Journal
from drapps.analysis.known import loader_of
from drapps.analysis.live import about, opened, refuse_ranks
from drapps.analysis.session import Plan, Session
from drapps.errors import PipelineError
from drapps.watching.hooks import hook_imports

PLAN, CLAIMED, FAILED = "plan.json", "claimed", "failed.txt"
_PATIENCE_S = 20.0  # that a script has to end by itself


def install(folder: Path) -> None:
    """Hooks loaders in this process, before anything of the script runs.

    Args:
        folder: has the plan, and gets what is measured.
    """
    import multiprocessing.process

    if multiprocessing.process.parent_process() is not None:
        return
    opened()
    hook_imports(iterating.hooks(_Script(folder).iterated))


class _Script:
    """The script that this process runs.

    Args:
        folder: has the plan, and gets what is measured.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: list[Any] = []
        self._loader: Any = None
        self._batches: _Batches | None = None

    def iterated(self, loader: Any, plain: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """What iterating over a loader gives.

        Args:
            loader: what is iterated.
            plain: gives an iterator of a loader of its kind as it is.
        """
        if self._batches is not None:
            return self._batches if loader is self._loader else plain(loader)
        torch = sys.modules.get("torch")
        if torch is not None and not torch.is_grad_enabled():
            return plain(loader)
        if all(each is not loader for each in self._seen):
            self._seen.append(loader)
        plan = json.loads((self._folder / PLAN).read_text(encoding="utf-8"))
        number = plan.pop("loader")
        if len(self._seen) < number or not self._claims():
            return plain(loader)
        try:
            iterating.refuse_graphs()
        except PipelineError as error:
            (self._folder / FAILED).write_text(str(error), encoding="utf-8")
            raise SystemExit(0) from None
        self._loader = loader
        session = self._session(loader, plain, plan)
        self._batches = _Batches(session, self._folder, lambda: plain(loader))
        return self._batches

    def _claims(self) -> bool:
        """Whether this is the first process of the command that has got here."""
        try:
            (self._folder / CLAIMED).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _session(
        self, loader: Any, plain: Callable[[Any], Iterator[Any]], plan: dict[str, Any]
    ) -> Iterator[Any]:
        refuse_ranks()
        known = loader_of(loader)
        known.iterate = plain
        path, command = Path(plan.pop("file")), plan.pop("command")
        quiet = plan.pop("quiet")

        def progress(text: str) -> None:
            if not quiet:
                print(f"drapps analyze: {text}", file=sys.stderr, flush=True)

        journal = Journal(path, about(known) | {"command": command, "data": plan["data"]})
        session = Session(known, Plan(**plan), journal, progress, opened=opened())
        yield from session.batches()


class _Batches(Iterator[Any]):
    """The batches of a session; behind the last, or where it cannot be measured, the script ends.

    What a dataset raises goes on to the script, with its traceback. What else a script asks of an
    iterator of its library, such as its state, one of that library answers, which yields nothing.
    """

    def __init__(
        self, batches: Iterator[Any], folder: Path, plain: Callable[[], Iterator[Any]]
    ) -> None:
        self._batches, self._folder = batches, folder
        self._plain: Any = plain
        self._idle: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._idle is None:
            self._idle = self._plain()
        return getattr(self._idle, name)

    def __next__(self) -> Any:
        try:
            for batch in self._batches:
                return batch
        except PipelineError as error:
            (self._folder / FAILED).write_text(str(error), encoding="utf-8")
        threading.Thread(target=_insist, daemon=True).start()
        raise SystemExit(0)

    def get_next(self) -> Any:
        """The next batch, as scripts of TensorFlow ask for it."""
        return next(self)


def _insist() -> None:
    """Ends a script that catches `SystemExit`, or does not come to its end."""
    time.sleep(_PATIENCE_S)
    os._exit(0)
