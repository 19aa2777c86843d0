"""``drapps lift``: which of a script's loaders would run natively, and why the others would not."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer
from drapps.cli.children import run_children
from drapps.cli.loaders_made import Seen, Watch
from drapps.cli.parser import add_command
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


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


def answer_of(seen: list[Seen], why: str, error: str = "") -> Answer:
    """What is told of the loaders, and why the script has ended."""
    native = sum(each.facts["native"] for each in seen)
    summary = f"{native} of {len(seen)} loaders would run natively. Stopped: {why}."
    facts = {"loaders": [each.facts for each in seen], "stopped": why} if seen else {}
    return Answer("\n".join([*(each.text for each in seen), summary]) if seen else "", facts, error)


def run(chosen: argparse.Namespace) -> Answer:
    """Run the script, and say what its loaders would do.

    Raises:
        PipelineError: there is no script, or no torch.
    """
    if importlib.util.find_spec("torch") is None:
        raise PipelineError("torch is not installed here, whose loaders this is about")
    if not chosen.module and not Path(chosen.script).is_file():
        raise PipelineError(f"there is no file {chosen.script}")

    none = f"{chosen.script} made no DataLoader"
    with (
        script_output_elsewhere(chosen.quiet) as answers,
        tempfile.TemporaryDirectory(prefix="drapps-lift-") as folder,
    ):

        def tell(seen: list[Seen], why: str) -> int:
            sys.stdout.flush()
            sys.stderr.flush()
            answer = answer_of(seen, why, "" if seen else f"{none}: {why}")
            with os.fdopen(answers, "w", encoding="utf-8") as out:
                answer.tell(as_json=chosen.json, quiet=chosen.quiet, out=out)
            shutil.rmtree(folder)
            return 0 if seen else 1

        watch = Watch(Path(folder), tell, run_children)
        failed = run_script(chosen, watch)
        seen = watch.seen()
    if failed:
        error = f"{chosen.script} was not seen up to its first iter(): {failed}"
        return answer_of(seen, failed, error)
    if not seen:
        raise PipelineError(none)
    return answer_of(seen, "the script ended, and no loader was iterated")


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
                sys.path.insert(0, str(Path.cwd()))  # as python -m
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
