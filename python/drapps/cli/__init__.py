"""The command ``drapps``: ``drapps COMMAND --help`` says what each does."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from drapps import __version__
from drapps.cli import (
    analyze,
    calibrate,
    check_policy,
    codecs,
    doctor,
    lift,
    pack,
    play,
    simulate,
    tokenizer,
    top,
    trace,
    train_policy,
    transcode,
    tune_policy,
    watch,
)
from drapps.cli.answer import Answer, complain, error_text
from drapps.cli.parser import Parser, WrongUseError
from drapps.errors import PipelineError
from drapps.output import discard_unfinished

_COMMANDS = (
    analyze,
    calibrate,
    codecs,
    doctor,
    lift,
    pack,
    play,
    check_policy,
    simulate,
    tokenizer,
    top,
    trace,
    train_policy,
    transcode,
    tune_policy,
    watch,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Returns:
        0 done, 1 a failure, 130 interrupted, 143 ended by SIGTERM; of a command that runs another
        one, the other's.

    Raises:
        SystemExit: with 2 for wrong use, with 0 where help or the version was asked for.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may be anything
        sys.stdout.reconfigure(errors="backslashreplace")
    as_json, quiet = "--json" in words, False
    try:
        with ended_by_sigterm():
            chosen = parse(words)
            as_json, quiet = chosen.json, chosen.quiet
            answer: Answer = chosen.run(chosen)
        status = 1 if answer.error else answer.status
    except WrongUseError as error:
        status, answer = 2, Answer(error=str(error))
    except (PipelineError, OSError) as error:
        status, answer = 1, Answer(error=error_text(error))
    except KeyboardInterrupt as signalled:
        discard_unfinished()
        status = 128 + (signalled.args[0] if signalled.args else signal.SIGINT)
        answer = Answer(error="interrupted; every file that was written is whole")
    try:
        answer.tell(as_json=as_json, quiet=quiet, out=sys.stdout)
    except OSError as error:
        complain(f"the answer could not be written: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # takes what is still in the buffer
        status = status or 1
    if status == 2:
        raise SystemExit(status)
    return status


def parse(words: list[str]) -> argparse.Namespace:
    """What was chosen.

    Raises:
        WrongUseError: words that are no command.
    """
    parser = Parser("drapps", description="Tools for the data that DRAPPS feeds.")
    parser.add_argument("--version", action="version", version=f"drapps {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.register(commands)
    return parser.parse_args(words)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """While it lasts, SIGTERM ends a command as Ctrl-C does: nothing half written stays."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
