"""``drapps pack``: pictures become tar shards, and texts become files of tokens."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from drapps.arguments import size_of
from drapps.cli.answer import Answer, shown
from drapps.cli.parser import WrongUseError, add_command, count, named
from drapps.cli.progress import Progress
from drapps.corpus.source import KINDS
from drapps.errors import SampleError

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "pack",
        run,
        summary="write pictures into tar shards, or the tokens of texts into .bin and .idx",
        description="Writes a folder with a folder per class into tar shards in OUT, which "
        "drapps.webdataset(OUT) and WebDataset read. With --tokens OUT, writes the tokens of all "
        "documents of FILES into OUT.bin and OUT.idx, which drapps.tokens and Megatron-LM read; "
        "a run that was interrupted goes on when it is started again. With --reframe OUT, writes "
        "each of FILES, text or JSON lines, into the folder OUT as zstd frames of 1 MiB, which are "
        "read from many places at once. Nothing is overwritten.",
    )
    parser.add_argument(
        "names",
        metavar="SOURCE OUT | FILES",
        type=named,
        nargs="+",
        help="a folder with a folder per class, and a new or empty folder; with --tokens and "
        "--reframe, files of documents, or one folder of them",
    )
    parser.add_argument(
        "--shard-bytes",
        type=size,
        metavar="SIZE",
        help="the most bytes of a shard, such as 64MiB or 1GB (default: 256M)",
    )
    parser.add_argument(
        "--tokens", metavar="OUT", type=named, help="the name of the files, without an ending"
    )
    parser.add_argument("--reframe", metavar="OUT", type=named, help="a folder")
    parser.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="threads that make tokens or frames (default: the cores that this process may use)",
    )
    of_tokens = parser.add_argument_group("with --tokens")
    of_tokens.add_argument(
        "--tokenizer", metavar="FILE", type=named, help="a tokenizer.json or its folder"
    )
    of_tokens.add_argument("--eos", metavar="TOKEN", help="the token behind each document")
    of_tokens.add_argument("--bos", metavar="TOKEN", help="the token before each document")
    of_tokens.add_argument(
        "--documents",
        choices=("auto", *KINDS),
        help="what a document is (default: by the files' endings)",
    )
    of_tokens.add_argument(
        "--field", metavar="NAME", help="of the JSON objects, or the column (default: text)"
    )
    of_tokens.add_argument(
        "--skip-bad", action="store_true", help="leave out bad documents, and count them"
    )


def size(text: str) -> int:
    """A number of bytes, as `drapps.arguments.size_of` reads it."""
    try:
        number = size_of(text, letters=True)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is no size of a shard; write 64MiB or 1GB")
    return number


def run(chosen: argparse.Namespace) -> Answer:
    """Pack, and say what was written."""
    _check(chosen)
    if chosen.tokens:
        return run_tokens(chosen)
    return run_reframe(chosen) if chosen.reframe else run_pictures(chosen)


_OF_TOKENS = ("tokenizer", "eos", "bos", "documents", "field", "skip_bad")


def _check(chosen: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    kinds = [name for name in ("tokens", "reframe") if getattr(chosen, name)]
    if len(kinds) > 1:
        raise WrongUseError("--tokens and --reframe are two runs")
    if chosen.tokens and chosen.tokenizer is None:
        raise WrongUseError("--tokens needs --tokenizer")
    if kinds and chosen.shard_bytes is not None:
        raise WrongUseError(f"--shard-bytes is for pictures, not for --{kinds[0]}")
    for name in _OF_TOKENS:
        if getattr(chosen, name) and not chosen.tokens:
            raise WrongUseError(f"--{name.replace('_', '-')} needs --tokens OUT")
    if not kinds and chosen.jobs is not None:
        raise WrongUseError("--jobs is for --tokens and --reframe")
    if not kinds and len(chosen.names) != 2:
        raise WrongUseError(
            "pictures need a SOURCE and an OUT, texts --tokens OUT; see drapps pack --help"
        )


def run_pictures(chosen: argparse.Namespace) -> Answer:
    """Pack a folder of pictures."""
    from drapps.shards.pack import SHARD_BYTES, pack

    source, out = chosen.names
    progress = Progress(chosen)
    try:
        packed = pack(source, out, shard_bytes=chosen.shard_bytes or SHARD_BYTES, progress=progress)
    finally:
        progress.clear()
    shards = [str(shard) for shard in packed.shards]
    count = len(shards)
    return Answer(
        f"{packed.samples} samples in {count} {'shard' if count == 1 else 'shards'}, "
        f"{packed.size} bytes, in {shown(out)}",
        {"samples": packed.samples, "bytes": packed.size, "shards": shards},
    )


def run_tokens(chosen: argparse.Namespace) -> Answer:
    """Write the tokens of documents."""
    from drapps.token_shards.writer import write_tokens

    progress, began = Progress(chosen), time.monotonic()

    def say(share: float, tokens: int) -> None:
        progress.bar(share, f"{tokens:,} tokens, {time.monotonic() - began:.0f} s")

    try:
        written = write_tokens(
            chosen.tokens,
            files_of(chosen),
            chosen.tokenizer,
            eos=token(chosen.eos),
            bos=token(chosen.bos),
            documents=chosen.documents or "auto",
            field=chosen.field or "text",
            skip_bad=chosen.skip_bad,
            jobs=chosen.jobs,
            progress=say,
        )
    except SampleError as error:
        return Answer(error=f"{error}; --skip-bad leaves such documents out")
    finally:
        progress.clear()
    text = (
        f"{written.tokens} tokens of {written.documents} documents, as {written.dtype}, in "
        f"{shown(written.path)}"
    )
    if written.resumed:
        text += f"; {written.resumed} of them by an earlier run"
    if written.bad:
        text += f"; bad documents left out: {written.bad}"
    return Answer(text, {**asdict(written), "path": str(written.path)})


def run_reframe(chosen: argparse.Namespace) -> Answer:
    """Write files of small frames."""
    from drapps.token_shards.reframe import reframe

    progress = Progress(chosen)
    try:
        done = reframe(chosen.reframe, files_of(chosen), jobs=chosen.jobs, progress=progress)
    finally:
        progress.clear()
    written = len(done.paths) - done.there
    what = "file" if written == 1 else "files"
    text = f"{written} {what}, {done.size} bytes, in {shown(chosen.reframe)}"
    if done.there:
        text += f"; {done.there} there already"
    paths = [str(path) for path in done.paths]
    return Answer(text, {"files": paths, "there": done.there, "bytes": done.size})


def files_of(chosen: argparse.Namespace) -> str | list[str]:
    """The files that were named, or the folder."""
    names: list[str] = chosen.names
    return names[0] if len(names) == 1 else names


def token(text: str | None) -> int | str | None:
    """A token by its id, where the text is a number, or by its text."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
