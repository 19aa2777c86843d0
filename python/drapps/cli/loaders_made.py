"""The loaders that a script makes: each is noted, and the first ``iter()`` ends the script."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from drapps.torch.report import LiftReport

DRAPPS = Path(__file__).resolve().parents[1]
RunChildren = Callable[[Callable[..., Any], Path, tuple[Any, Any], int, dict[str, Any]], str]
SPAWNING = ("spawn", "start_processes")  # of torch.multiprocessing


@dataclass(frozen=True)
class Seen:
    """What is told of a loader.

    Attributes:
        text: for people.
        facts: for programs.
    """

    text: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class Made:
    """A loader of the script."""

    loader: Any
    at: str  # file and line
    pid: int = field(default_factory=os.getpid)

    def seen(self) -> Seen:
        """What is told of it."""
        report, size, workers = self._report(), self.loader.batch_size, self.loader.num_workers
        about = {"made_at": self.at, "batch_size": size, "num_workers": workers}
        text = f"{self.at}: batch_size={size}, num_workers={workers}\n{report}\n"
        return Seen(text, about | asdict(report))

    def _report(self) -> LiftReport:
        from drapps.torch.report import LiftReport

        try:
            report: LiftReport = self.loader.lifted()
        except Exception as error:
            return LiftReport(native=False, reasons=(f"looking at it failed: {error!r}",))
        return report


class Watch:
    """Knows the loaders that a process makes, and ends it where one is iterated.

    Processes that are forked from it end likewise. They leave what they have made in a folder, and
    so do those that it spawns, which have a watch of their own over the same folder.
    """

    def __init__(
        self, folder: Path, tell: Callable[[list[Seen], str], int], run_children: RunChildren
    ) -> None:
        """Watches the process that this is called in.

        Args:
            folder: where other processes leave what they have made.
            tell: gets the loaders, and why the script has ended; gives the exit status.
            run_children: as `drapps.cli.children.run_children`.
        """
        self.loaders: list[Made] = []
        self.folder = folder
        self._tell = tell
        self._run_children = run_children
        self._pid = os.getpid()

    def seen(self) -> list[Seen]:
        """All loaders, and those of other processes that no process before them has made too."""
        loaders = [entry.seen() for entry in self.loaders]
        for path in sorted(self.folder.glob("*.json"), key=lambda path: int(path.stem)):
            left = [Seen(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
            known = {each.text for each in loaders}
            loaders += [each for each in left if each.text not in known]
        return loaders

    def leave(self, number: int) -> None:
        """Leaves what this process has made for the one that is to tell of it."""
        facts = [asdict(entry.seen()) for entry in self.loaders if entry.pid == os.getpid()]
        text = json.dumps(facts).replace("__mp_main__", "__main__")  # the script's name in a child
        unfinished = self.folder / f"{number}.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(self.folder / f"{number}.json")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While it lasts, torch's loader is ours, and both are watched."""
        import torch.multiprocessing
        import torch.utils.data

        from drapps.torch import DataLoader

        init = DataLoader.__init__

        @functools.wraps(init)
        def construct(loader: Any, *arguments: Any, **options: Any) -> None:
            init(loader, *arguments, **options)
            self.loaders.append(Made(loader, caller()))

        def iterated(_loader: Any) -> NoReturn:
            self.end(f"the first iter(), at {caller()}")

        def spawned(
            fn: Any,
            args: Any = (),
            nprocs: int = 1,
            join: bool = True,  # noqa: ARG001 - nothing behind them runs
            daemon: bool = False,
            start_method: str = "spawn",
        ) -> NoReturn:
            reason = f"the script starts processes of its own at {caller()}"
            how = {"daemon": daemon, "start_method": start_method}
            became = self._run_children(start, self.folder, (fn, args), nprocs, how)
            self.end(f"{reason}, {became}")

        patches: list[tuple[Any, str, Any]] = [
            (DataLoader, "__init__", construct),
            (DataLoader, "__iter__", iterated),
            (torch.utils.data, "DataLoader", DataLoader),
            (torch.utils.data.dataloader, "DataLoader", DataLoader),
            *((torch.multiprocessing, name, spawned) for name in SPAWNING),
        ]
        kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in patches]
        start = vars(torch.multiprocessing)["start_processes"]

        def restore() -> None:
            for owner, name, value in kept:
                if value is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)

        self._restore = restore
        for patch in patches:
            setattr(*patch)
        try:
            yield
        finally:
            restore()

    def end(self, why: str) -> NoReturn:
        """Ends the process without running anything else of the script."""
        status = 0
        self._restore()
        if os.getpid() == self._pid:
            status = self._tell(self.seen(), why)
        else:  # a fork of the script's process
            self.leave(os.getpid())
        os._exit(status)


def caller() -> str:
    """File and line of the code that called torch or drapps."""
    import torch

    own = tuple(f"{folder}{os.sep}" for folder in (Path(torch.__file__).parent, DRAPPS))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    file = Path(frame.f_code.co_filename)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return f"{shown}:{frame.f_lineno}"
