"""``drapps doctor``: what the machine offers, and what stands in the way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, named
from drapps.doctor.finding import GOOD, PROBLEM, Finding

if TYPE_CHECKING:
    from drapps.cli.parser import Commands

_MARKS = {GOOD: " ", "note": "!", PROBLEM: "X"}


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "doctor",
        run,
        summary="say what this machine offers a loader, and how to mend what it lacks",
        description="Looks at vector instructions, cores, memory, limits, io_uring, the GPU, "
        "versions and, where FOLDER is given, its storage. What is marked ! costs speed or may "
        "matter; what is marked X will fail, and makes the exit status 1.",
    )
    parser.add_argument(
        "folder", metavar="FOLDER", type=named, nargs="?", help="where the training data lies"
    )


def run(chosen: argparse.Namespace) -> Answer:
    """Look, and tell.

    Raises:
        OSError: the folder cannot be read.
    """
    findings = list(_looked(chosen.folder))
    problems = [each for each in findings if each.status == PROBLEM]
    width = max(len(each.name) for each in findings)
    lines = []
    for each in findings:
        lines.append(f"{_MARKS[each.status]} {each.name:<{width}}  {shown(each.detail)}")
        if each.mend:
            lines.append(f"  {'':<{width}}  → {each.mend}")
    names = ", ".join(each.name for each in problems)
    error = f"{len(problems)} of {len(findings)} will fail: {names}" if problems else ""
    return Answer("\n".join(lines), {"findings": [asdict(each) for each in findings]}, error)


def _looked(folder: str | None) -> Iterator[Finding]:
    from drapps.doctor import machine, place, software

    yield from software.findings()
    yield from machine.findings()
    if folder is not None:
        yield from place.findings(Path(folder))
