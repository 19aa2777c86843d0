"""``drapps transcode``: JPEG files become files in the coefficient form."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, complain, shown
from drapps.cli.parser import add_command, count, named
from drapps.cli.progress import Progress

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "transcode",
        run,
        summary="write the coefficient form of JPEG files",
        description="Writes baseline JPEG files into OUT in the coefficient form (.djc): the same "
        "pixels, decoded much faster, in twice the bytes. A folder gives OUT its shape, files go "
        "straight into OUT. Nothing is overwritten, and what is there already with the same "
        "content counts as done, so that an interrupted run can be started again.",
    )
    parser.add_argument(
        "sources", metavar="SOURCE", type=named, nargs="+", help="one folder, or files"
    )
    parser.add_argument(
        "out", metavar="OUT", type=named, help="a folder that does not lie in SOURCE"
    )
    parser.add_argument(
        "--copy-others",
        action="store_true",
        help="copy files that have no such form; without it they are listed and left out",
    )
    parser.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="threads (default: the cores that this process may use)",
    )


def run(chosen: argparse.Namespace) -> Answer:
    """Transcode, and say what was written."""
    from drapps import _core
    from drapps.form_files import list_files, transcode_files

    listing = list_files([Path(source) for source in chosen.sources], Path(chosen.out))
    jobs = chosen.jobs or math.ceil(_core.cpu_budget())
    total = len(listing.files) + len(listing.failed)
    counts: Counter[str] = Counter()
    noted: dict[str, list[dict[str, str]]] = {"left out": [], "failed": []}
    progress = Progress(chosen)
    outcomes = transcode_files(listing, copy_others=chosen.copy_others, jobs=jobs)
    try:
        for done, outcome in enumerate(outcomes, 1):
            counts.update([outcome.result])
            counts.update(forms=outcome.read > 0, read=outcome.read, written=outcome.written)
            if outcome.result in noted:
                noted[outcome.result].append({"path": str(outcome.path), "why": outcome.why})
            if outcome.result == "failed":
                progress.clear()
                complain(f"{outcome.path}: {outcome.why}")
            progress(done, total)
    finally:
        outcomes.close()
        progress.clear()

    lines = [f"left out: {shown(each['path'])}: {each['why']}" for each in noted["left out"]]
    lines.append(
        f"{counts['forms']} of {total} files in the coefficient form, {counts['written']} bytes "
        f"made of {counts['read']}, in {shown(chosen.out)}"
    )
    for result, more in (
        ("copied", "copied"),
        ("unchanged", "there already"),
        ("left out", "left out, which --copy-others copies"),
    ):
        if counts[result]:
            lines[-1] += f"; {counts[result]} {more}"
    facts = {
        **{result: counts[result] for result in ("transcoded", "copied", "unchanged")},
        "jpeg_bytes": counts["read"],
        "form_bytes": counts["written"],
        "left_out": noted["left out"],
        "failed": noted["failed"],
    }
    failed = counts["failed"]
    return Answer("\n".join(lines), facts, f"{failed} of {total} files failed" if failed else "")
