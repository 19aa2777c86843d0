"""``drapps pack``: a folder of pictures becomes tar shards."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "pack",
        help="write a folder of pictures into tar shards",
        description="Writes a folder with a folder per class into tar shards in OUT, which "
        "drapps.webdataset(OUT) and WebDataset read. Nothing is overwritten.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="a folder with a folder per class")
    parser.add_argument("out", metavar="OUT", help="a new or empty folder")
    parser.add_argument(
        "--shard-bytes",
        type=size,
        default="256M",
        metavar="SIZE",
        help="the most bytes of a shard, with K, M or G (default: 256M)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def size(text: str) -> int:
    """A number of bytes: ``4096``, ``64K``, ``256M``, ``1G``."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 4096, 64K, 256M or 1G")
    return int(found[1]) * UNITS[found[2]]


def run(chosen: argparse.Namespace) -> str:
    """Pack, and say what was written."""
    from drapps.shards.pack import pack

    packed = pack(chosen.folder, chosen.out, shard_bytes=chosen.shard_bytes)
    if chosen.json:
        shards = [str(shard) for shard in packed.shards]
        return json.dumps({"samples": packed.samples, "bytes": packed.size, "shards": shards})
    count = len(packed.shards)
    return (
        f"{packed.samples} samples in {count} {'shard' if count == 1 else 'shards'}, "
        f"{packed.size} bytes, in {chosen.out}"
    )
