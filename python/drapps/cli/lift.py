"""``drapps lift``: which of a script's loaders would run natively, and why the others would not."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from drapps.cli.answer import Answer
from drapps.cli.parser import add_command
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.torch.report import LiftReport

DRAPPS = Path(__file__).resolve().parents[1]
SPAWNING = ("spawn", "start_processes")  # of torch.multiprocessing


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "lift",
        run,
        summary="say which loaders of a training script would run natively",
        description="Runs SCRIPT with torch's DataLoader replaced by drapps.torch.DataLoader up "
        "to the first iter() of a loader, ends it there, and says for each loader that it has "
        "made whether it would run natively, and why not. Nothing behind that place runs: no "
        "training step, no handler of exceptions, nothing that saves a checkpoint. What SCRIPT "
        "prints goes to stderr, and with --quiet nowhere.",
    )
    parser.add_argument(
        "-m", "--module", action="store_true", help="SCRIPT is a module, as for python -m"
    )
    parser.add_argument("script", metavar="SCRIPT", help="a file of Python code")
    parser.add_argument(
        "arguments", metavar="ARG", nargs=argparse.REMAINDER, help="the script's own arguments"
    )


@dataclass(frozen=True)
class Made:
    """A loader of the script."""

    loader: Any
    at: str  # file and line

    def report(self) -> LiftReport:
        """What would become of it."""
        from drapps.torch.report import LiftReport

        try:
            report: LiftReport = self.loader.lifted()
        except Exception as error:
            return LiftReport(native=False, reasons=(f"looking at it failed: {error!r}",))
        return report


class Watch:
    """Knows the loaders that a script makes, and ends the process where one is iterated."""

    def __init__(self, tell: Callable[[list[Made], str], None]) -> None:
        """`tell` gets the loaders, and why the script has ended."""
        self.made: list[Made] = []
        self._tell = tell
        self._pid = os.getpid()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While it lasts, torch's loader is ours, and both are watched."""
        import torch.multiprocessing
        import torch.utils.data

        from drapps.torch import DataLoader

        init = DataLoader.__init__

        @functools.wraps(init)
        def made(loader: Any, *arguments: Any, **options: Any) -> None:
            init(loader, *arguments, **options)
            self.made.append(Made(loader, caller()))

        def iterated(_loader: Any) -> NoReturn:
            self._end(f"the first iter(), at {caller()}")

        def spawned(*_arguments: Any, **_options: Any) -> NoReturn:
            self._end(
                f"the script starts processes of its own at {caller()}, whose loaders are not "
                "seen; give the script that one of them runs"
            )

        patches: list[tuple[Any, str, Any]] = [
            (DataLoader, "__init__", made),
            (DataLoader, "__iter__", iterated),
            (torch.utils.data, "DataLoader", DataLoader),
            (torch.utils.data.dataloader, "DataLoader", DataLoader),
            *((torch.multiprocessing, name, spawned) for name in SPAWNING),
        ]
        kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in patches]

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

    def _end(self, why: str) -> NoReturn:
        """Ends the process without running anything else of the script."""
        if os.getpid() == self._pid:  # a fork of the script's says nothing
            self._restore()
            self._tell(self.made, why)
        os._exit(0)


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


def answer_of(made: list[Made], why: str, error: str = "") -> Answer:
    """What is told of the loaders, and why the script has ended."""
    lines, loaders = [], []
    for each in made:
        report = each.report()
        size, workers = each.loader.batch_size, each.loader.num_workers
        lines.append(f"{each.at}: batch_size={size}, num_workers={workers}\n{report}\n")
        about = {"made_at": each.at, "batch_size": size, "num_workers": workers}
        loaders.append(about | asdict(report))
    native = sum(loader["native"] for loader in loaders)
    lines.append(f"{native} of {len(made)} loaders would run natively. Stopped: {why}.")
    facts = {"loaders": loaders, "stopped": why} if made else {}
    return Answer("\n".join(lines) if made else "", facts, error)


def run(chosen: argparse.Namespace) -> Answer:
    """Run the script, and say what its loaders would do.

    Raises:
        PipelineError: there is no script, or no torch.
    """
    if importlib.util.find_spec("torch") is None:
        raise PipelineError("torch is not installed here, whose loaders this is about")
    if not chosen.module and not Path(chosen.script).is_file():
        raise PipelineError(f"there is no file {chosen.script}")

    with script_output_elsewhere(chosen.quiet) as answers:

        def tell(made: list[Made], why: str) -> None:
            sys.stdout.flush()
            sys.stderr.flush()
            with os.fdopen(answers, "w", encoding="utf-8") as out:
                answer_of(made, why).tell(as_json=chosen.json, quiet=chosen.quiet, out=out)

        watch = Watch(tell)
        failed = run_script(chosen, watch)
    if failed:
        error = f"{chosen.script} was not seen up to its first iter(): {failed}"
        return answer_of(watch.made, failed, error)
    if not watch.made:
        raise PipelineError(f"{chosen.script} made no DataLoader")
    return answer_of(watch.made, "the script ended, and no loader was iterated")


@contextmanager
def script_output_elsewhere(quiet: bool) -> Iterator[int]:
    """While it lasts, what the script prints goes to stderr, or nowhere; gives what was stdout."""
    answers = os.dup(1)
    sys.stdout.flush()
    elsewhere = os.open(os.devnull, os.O_WRONLY) if quiet else os.dup(2)
    os.dup2(elsewhere, 1)
    os.close(elsewhere)
    try:
        yield answers
    finally:
        sys.stdout.flush()
        os.dup2(answers, 1)
        os.close(answers)


def run_script(chosen: argparse.Namespace, watch: Watch) -> str:
    """Run the script as Python would; how it failed, if it did."""
    sys.argv = [chosen.script, *chosen.arguments]
    try:
        with watch.watching():
            if chosen.module:
                sys.path.insert(0, "")
                runpy.run_module(chosen.script, run_name="__main__", alter_sys=True)
            else:
                sys.path.insert(0, str(Path(chosen.script).resolve().parent))
                runpy.run_path(chosen.script, run_name="__main__")
    except SystemExit as end:
        return f"it ended with {end.code!r}" if end.code else ""
    except Exception as error:
        traceback.print_exc()
        return f"it failed with {type(error).__name__}"
    return ""
