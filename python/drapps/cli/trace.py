"""``drapps trace``: what a recording holds, for people and other tools, and decided again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, named

if TYPE_CHECKING:
    from drapps.cli.parser import Commands

FORMATS = ("perfetto", "csv")


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = commands.add_parser(
        "trace",
        help="show, export or replay what loader.record(path) wrote",
        description="Reads what loader.record(path) wrote. A file that was cut off is read up to "
        "its last whole block.",
    )
    kinds = parser.add_subparsers(required=True, metavar="COMMAND")
    show = add_command(
        kinds,
        "show",
        run_show,
        summary="say what happened in a run",
        description="Says what was decided, what the training waited for, and where time went.",
    )
    export = add_command(
        kinds,
        "export",
        run_export,
        summary="write a run for other tools",
        description="Writes OUT for Perfetto or chrome://tracing (a JSON trace: a counter per "
        "number, moves, samples), or as CSV (a row per decision, a column per number). Nothing is "
        "overwritten.",
    )
    export.add_argument("--format", choices=FORMATS, required=True, help="what OUT is")
    export.add_argument("-o", "--out", metavar="OUT", type=named, required=True, help="a new file")
    replay = add_command(
        kinds,
        "replay",
        run_replay,
        summary="decide again, and compare",
        description="Decides again what was decided, by the recorded policy behind the recorded "
        "guard. It fails where a decision comes out differently, and refuses a trace of a version "
        "with other knobs, lanes or observations.",
    )
    for command in (show, export, replay):
        command.add_argument("file", metavar="FILE", type=named, help="a trace")


def run_show(chosen: argparse.Namespace) -> Answer:
    """Say what happened."""
    from drapps.trace import Trace
    from drapps.trace.summary import summarise

    summary = summarise(Trace(chosen.file))
    return Answer(shown_lines(str(summary)), summary.to_json())


def run_export(chosen: argparse.Namespace) -> Answer:
    """Write the run for another tool."""
    from drapps.trace import Trace
    from drapps.trace.export import write_csv, write_perfetto

    trace = Trace(chosen.file)
    write = write_csv if chosen.format == "csv" else write_perfetto
    decisions, size = write(trace, Path(chosen.out))
    note = f"\n{trace.note}" if trace.note else ""
    return Answer(
        f"{decisions} decisions, {size} bytes, in {shown(chosen.out)}{note}",
        {"decisions": decisions, "bytes": size, "out": chosen.out, "note": trace.note},
    )


def run_replay(chosen: argparse.Namespace) -> Answer:
    """Decide again, and compare."""
    from dataclasses import asdict

    from drapps.trace import replay

    done = replay(chosen.file)
    note = f"\n{done.note}" if done.note else ""
    text = f"{done.equal} of {done.decisions} decisions came out as they were{note}"
    error = f"{chosen.file}: {done.first_difference}" if done.first_difference else ""
    return Answer(text, asdict(done), error)


def shown_lines(text: str) -> str:
    """The text, whatever is in it, in lines that every terminal can show."""
    return "\n".join(shown(line) for line in text.splitlines())
