"""``drapps tokenizer``: whether a tokenizer is exact here, and how fast."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, named
from drapps.cli.progress import Progress

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.tokenizers.check import Found


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = commands.add_parser("tokenizer", help="check a tokenizer beside its library")
    kinds = parser.add_subparsers(required=True, metavar="COMMAND")
    check = add_command(
        kinds,
        "check",
        run_check,
        summary="compare ids with the library's, and measure both",
        description="Makes ids of FILE, a tokenizer.json or ranks of tiktoken, with DRAPPS and "
        "with the installed library: of every token of its vocabulary, every character of Unicode "
        "in several places, strings by chance, and the texts of DIR. Says where they are equal, "
        "what is refused, and how fast each is on one thread. It fails where something is not "
        "exact or not native.",
    )
    check.add_argument(
        "file", metavar="FILE", type=named, help="a tokenizer.json, its folder, or a file of ranks"
    )
    check.add_argument(
        "--encoding", metavar="NAME", help="of a file of ranks, as tiktoken calls it: o200k_base"
    )
    check.add_argument("--text", metavar="DIR", type=named, help="texts in UTF-8, all files of it")


def run_check(chosen: argparse.Namespace) -> Answer:
    """Compare, and say what was found."""
    from drapps.tokenizers.check import check

    progress = Progress(chosen)
    texts = Path(chosen.text) if chosen.text else None
    try:
        checked = check(Path(chosen.file), texts, progress.say, chosen.encoding)
    finally:
        progress.clear()
    facts = {
        "native": checked.native,
        "reason": checked.reason,
        "exact": checked.exact,
        "kinds": [each._asdict() for each in checked.kinds],
    }
    name = shown(chosen.file)
    if not checked.native:
        text = f"{name}: left to the library, because of {shown(checked.reason)}"
        return Answer(text, facts, f"{name} is not native: {shown(checked.reason)}")
    lines = [f"{name}: native", *map(_line, checked.kinds)]
    error = "" if checked.exact else f"{name} is not exact here: please report what differs"
    return Answer("\n".join(lines), facts, error)


def _line(entry: Found) -> str:
    verdict = "exact" if entry.differ is None else f"DIFFERS on {entry.differ!r}"
    return (
        f"  {entry.name}: {verdict}; {entry.texts:,} texts, {entry.bytes / 1e6:,.1f} MB, "
        f"{entry.ours:,.1f} MB/s, the library {entry.stock:,.1f} MB/s"
    )
