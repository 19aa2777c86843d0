"""``drapps codecs``: what each form of the cache makes of a folder of pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, complain, shown
from drapps.cli.parser import add_command, count, named
from drapps.cli.progress import Progress

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.form_table import FileClass, FormEstimate

_FILES, _TIMES = 64, 3


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "codecs",
        run,
        summary="measure the forms of the cache on pictures",
        description="Tries every form in which the cache can keep records on some pictures of a "
        "folder, and says what they take: bytes, and CPU time to make them and to read them whole "
        "or in the half in the middle. With a budget and the bandwidth of the storage it says "
        "which single form would serve best.",
    )
    parser.add_argument("folder", metavar="DIR", type=named, help="a folder of pictures")
    parser.add_argument(
        "--files", type=count, default=_FILES, metavar="N", help=f"pictures to try ({_FILES})"
    )
    parser.add_argument(
        "--times", type=count, default=_TIMES, metavar="N", help=f"tries of each ({_TIMES})"
    )
    parser.add_argument("--budget", type=count, metavar="MB", help="megabytes of the cache")
    parser.add_argument(
        "--bandwidth", type=count, metavar="MB", help="megabytes a second of the storage"
    )
    parser.add_argument("--cores", type=count, metavar="N", help="that decode (this process's)")


def run(chosen: argparse.Namespace) -> Answer:
    """Measure, and say what was found."""
    from drapps import _core
    from drapps.cli.parser import WrongUseError
    from drapps.form_table import table_of

    if (chosen.budget is None) != (chosen.bandwidth is None):
        raise WrongUseError("--budget and --bandwidth go together: give both")
    progress = Progress(chosen)
    try:
        table = table_of(Path(chosen.folder), chosen.files, chosen.times, progress)
    finally:
        progress.clear()
    for path, why in table.failed:
        complain(f"{path}: {why}")
    lines = [
        f"{table.files} pictures, {table.bytes} bytes, in {shown(chosen.folder)}; "
        f"{table.all.files} of them tried"
    ]
    for each in table.classes:
        lines += ["", *_class_lines(each)]
    facts = {
        "files": table.files,
        "bytes": table.bytes,
        "classes": [each.to_json() for each in table.classes],
        "all": table.all.to_json(),
        "failed": [{"path": path, "why": why} for path, why in table.failed],
    }
    if chosen.budget is not None:
        cores = chosen.cores or _core.cpu_budget()
        estimates = table.estimates(chosen.budget * 1e6, chosen.bandwidth * 1e6, cores)
        lines += ["", *_estimate_lines(estimates, chosen.budget, chosen.bandwidth)]
        facts["picks"] = [vars(each) for each in estimates]
    failed = len(table.failed)
    tried = table.all.files + failed
    return Answer("\n".join(lines), facts, f"{failed} of {tried} files failed" if failed else "")


def _class_lines(group: FileClass) -> list[str]:
    rows = [
        (
            row.form if row.holds == 1 else f"{row.form} ({row.holds:.0%} of them)",
            f"{row.bytes:,.0f}",
            f"{row.ratio:.2f}",
            f"{row.make_us:,.0f}",
            f"{row.whole_us:,.0f}",
            f"{row.region_us:,.0f}",
            str(row.error),
        )
        for row in group.forms
    ]
    head = ("form", "bytes", "ratio", "make us", "whole us", "half us", "error")
    title = (
        f"{group.name}: {group.files} files of {group.bytes:,.0f} bytes, "
        f"{group.height:,.0f} x {group.width:,.0f} pixels in the mean"
    )
    return [title, *_columns([head, *rows])]


def _estimate_lines(estimates: Sequence[FormEstimate], budget: int, bandwidth: int) -> list[str]:
    rows = [(each.form, f"{each.kept:.0%}", f"{each.rate:,.0f}", each.limit) for each in estimates]
    return [
        f"with {budget} MB of cache and storage of {bandwidth} MB/s, best first:",
        *_columns([("form", "kept", "samples/s", "limit"), *rows]),
    ]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
