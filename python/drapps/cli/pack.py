"""``drapps pack``: a folder of pictures becomes tar shards."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from drapps.arguments import size_of
from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, named
from drapps.cli.progress import Progress

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "pack",
        run,
        summary="write a folder of pictures into tar shards",
        description="Writes a folder with a folder per class into tar shards in OUT, which "
        "drapps.webdataset(OUT) and WebDataset read. Nothing is overwritten.",
    )
    parser.add_argument(
        "source", metavar="SOURCE", type=named, help="a folder with a folder per class"
    )
    parser.add_argument("out", metavar="OUT", type=named, help="a new or empty folder")
    parser.add_argument(
        "--shard-bytes",
        type=size,
        default="256M",
        metavar="SIZE",
        help="the most bytes of a shard, such as 64MiB or 1GB (default: 256M)",
    )


def size(text: str) -> int:
    """A number of bytes, as `drapps.arguments.size_of` reads it."""
    try:
        found = size_of(text, letters=True)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size of a shard; write 64MiB or 1GB")
    return found


def run(chosen: argparse.Namespace) -> Answer:
    """Pack, and say what was written."""
    from drapps.shards.pack import pack

    progress = Progress(chosen)
    try:
        packed = pack(chosen.source, chosen.out, shard_bytes=chosen.shard_bytes, progress=progress)
    finally:
        progress.clear()
    shards = [str(shard) for shard in packed.shards]
    count = len(shards)
    return Answer(
        f"{packed.samples} samples in {count} {'shard' if count == 1 else 'shards'}, "
        f"{packed.size} bytes, in {shown(chosen.out)}",
        {"samples": packed.samples, "bytes": packed.size, "shards": shards},
    )
