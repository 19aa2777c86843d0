"""What ``drapps analyze`` does within the script of a training: its first loader is measured.

The first loader of torch that is iterated while gradients are wanted, or a later one that was asked
for, gives the batches of a `Session` in place of its own. Behind them the script is ended.
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

from drapps.analysis.journal import Journal
from drapps.analysis.live import about, opened, refuse_ranks
from drapps.analysis.loaders import loader_of
from drapps.analysis.session import Plan, Session
from drapps.errors import PipelineError
from drapps.watching.hooks import hook_imports

PLAN, CLAIMED, FAILED = "plan.json", "claimed", "failed.txt"
_PATIENCE_S = 20.0  # that a script has to end by itself


def install(folder: Path) -> None:
    """Hooks torch's loader in this process, before anything of the script runs.

    Args:
        folder: has the plan, and gets what is measured.
    """
    import multiprocessing.process

    if multiprocessing.process.parent_process() is not None:
        return
    opened()
    hook_imports({"torch.utils.data.dataloader": lambda torch: _hook(torch, folder)})


def _hook(torch: Any, folder: Path) -> None:
    script = _Script(folder, torch.DataLoader.__iter__)
    torch.DataLoader.__iter__ = lambda loader: script.iterated(loader)


class _Script:
    """The script that this process runs.

    Args:
        folder: has the plan, and gets what is measured.
        plain: ``DataLoader.__iter__`` as it is.
    """

    def __init__(self, folder: Path, plain: Callable[[Any], Iterator[Any]]) -> None:
        self._folder, self._plain = folder, plain
        self._seen: list[Any] = []
        self._loader: Any = None
        self._batches: _Batches | None = None

    def iterated(self, loader: Any) -> Iterator[Any]:
        """What iterating over a loader gives."""
        if self._batches is not None:
            return self._batches if loader is self._loader else self._plain(loader)
        if not sys.modules["torch"].is_grad_enabled():
            return self._plain(loader)
        if all(each is not loader for each in self._seen):
            self._seen.append(loader)
        plan = json.loads((self._folder / PLAN).read_text(encoding="utf-8"))
        number = plan.pop("loader")
        if len(self._seen) < number or not self._claims():
            return self._plain(loader)
        self._loader = loader
        self._batches = _Batches(self._session(loader, plan), self._folder)
        return self._batches

    def _claims(self) -> bool:
        """Whether this is the first process of the command that has got here."""
        try:
            (self._folder / CLAIMED).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _session(self, loader: Any, plan: dict[str, Any]) -> Iterator[Any]:
        refuse_ranks()
        known = loader_of(loader)
        known.iterate = self._plain
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

    What a dataset raises goes on to the script, with its traceback.
    """

    def __init__(self, batches: Iterator[Any], folder: Path) -> None:
        self._batches, self._folder = batches, folder

    def __next__(self) -> Any:
        try:
            for batch in self._batches:
                return batch
        except PipelineError as error:
            (self._folder / FAILED).write_text(str(error), encoding="utf-8")
        threading.Thread(target=_insist, daemon=True).start()
        raise SystemExit(0)


def _insist() -> None:
    """Ends a script that catches `SystemExit`, or does not come to its end."""
    time.sleep(_PATIENCE_S)
    os._exit(0)
