"""``drapps watch``: whether a training waits for data, and why."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, complain
from drapps.cli.parser import add_command, count, named
from drapps.errors import PipelineError
from drapps.watching import launch
from drapps.watching.criterion import Criterion

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.watching.report import WatchReport


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "watch",
        run,
        summary="say whether a training waits for data, and why",
        description="Runs COMMAND as it would run without, measures its loaders in every Python "
        "process of it, and says at its end on stderr whether it waits for data, what for, and "
        "what to do. The exit status is the command's.",
        json_help="write the report there, as JSON",
    )
    parser.add_argument(
        "--html", metavar="FILE", type=named, help="write it as one page that needs no other file"
    )
    parser.add_argument(
        "--compare",
        metavar="BEFORE",
        type=named,
        help="say what has changed since the run whose --json file this is",
    )
    parser.add_argument(
        "--fail-if",
        metavar="CRITERION",
        type=criterion,
        help="exit status 1 where it holds, such as 'stall>5%%'",
    )
    parser.add_argument(
        "--lift",
        action="store_true",
        help="then run drapps lift on the script of COMMAND, which starts it again up to its first "
        "iter(), and add what it says",
    )
    parser.add_argument(
        "--ranges",
        action="store_true",
        help="show each wait as a range of torch's profiler, and of NVTX where a GPU is in use",
    )
    parser.add_argument(
        "--pid",
        metavar="PID",
        type=count,
        help="look at a training that runs already, and at its children, instead of running one",
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=count,
        default=30,
        help="for how long, with --pid (default: 30)",
    )
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="behind --: what to run, such as python train.py",
    )


def criterion(text: str) -> Criterion:
    """What ``--fail-if`` takes."""
    try:
        return Criterion.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(chosen: argparse.Namespace) -> Answer:
    """Run the command, and tell of it on stderr.

    Raises:
        PipelineError: there is no command, or it cannot be run; a file cannot be read.
    """
    from drapps.watching import merge, outside

    words = chosen.command[1:] if chosen.command[:1] == ["--"] else chosen.command
    before = _before(chosen.compare) if chosen.compare else None
    if chosen.pid:
        if words:
            raise PipelineError("either a command is run, or --pid names one that runs: not both")
        report = outside.watch_pid(chosen.pid, chosen.seconds)
        return Answer(error=_tell(chosen, before, report))
    if not words:
        raise PipelineError("there is nothing to run: drapps watch -- python train.py")
    with tempfile.TemporaryDirectory(prefix="drapps-watch-") as folder:
        status = launch.run(words, launch.watched(Path(folder), chosen.ranges))
        sys.stdout.flush()
        try:
            report = merge.report_of(Path(folder), words)
        except PipelineError as error:
            complain(_unwatched(str(error)))
            return _ended(status, "nothing was measured" if chosen.fail_if else "")
    if chosen.lift:
        report = replace(report, lift=_lifted(words))
    return _ended(status, _tell(chosen, before, report))


def _lifted(words: list[str]) -> str:
    """What the loaders of a script would be with those of this package in their place."""
    at = next((number for number, word in enumerate(words) if word.endswith(".py")), None)
    if at is None:
        return "the command names no script, which drapps lift would need"
    lift = [sys.executable, "-m", "drapps", "lift", "--json", *words[at:]]
    done = subprocess.run(lift, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        loaders = json.loads(done.stdout)["loaders"]
    except (ValueError, KeyError):
        return "drapps lift has not come to the first iter() of the script"
    native = sum(each["native"] for each in loaders)
    why = dict.fromkeys(reason for each in loaders for reason in each["reasons"])
    summary = f"{native} of {len(loaders)} loaders would run natively on drapps.torch.DataLoader"
    return f"{summary}; not the others: {'; '.join(why)}" if why else summary


def _tell(chosen: argparse.Namespace, before: dict[str, object] | None, report: WatchReport) -> str:
    """Tells of a report where it is wanted; why it fails, if it does."""
    from drapps.watching import comparison, page

    lines = [str(report)]
    if before is not None:
        lines.append(comparison.compared(before, report))
    if not chosen.quiet:
        print("\n" + "\n".join(lines), file=sys.stderr, flush=True)
    if chosen.json_file:
        _write(chosen.json_file, json.dumps(report.to_json(), indent=2))
    if chosen.html:
        _write(chosen.html, page.html(report).rstrip())
    return chosen.fail_if.failure(report) if chosen.fail_if else ""


def _before(path: str) -> dict[str, object]:
    try:
        before = json.loads(Path(path).read_text(encoding="utf-8"))
        return {**before, "stall": before["stall"], "gain": before["gain"]}
    except (ValueError, KeyError, TypeError):
        raise PipelineError(f"{path} is no report of drapps watch --json") from None


def _write(path: str, text: str) -> None:
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def _unwatched(why: str) -> str:
    return (
        f"{why}; where the script does iterate one, wrap it: drapps.watch(loader). Python that "
        "runs with -I, -E or -S is not measured"
    )


def _ended(status: int, failure: str) -> Answer:
    """The command's own status, where it failed; else that of a failed criterion."""
    if failure and status == 0:
        return Answer(error=failure)
    if failure:
        complain(failure)
    return Answer(status=launch.end_as(status))
