"""How all commands are called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from drapps.cli.answer import Answer

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]

STATUSES = "exit status: 0 done, 1 a failure, 2 wrong use, 130 interrupted (Ctrl-C)"


class WrongUseError(Exception):
    """Words that are no command; the message says why."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and takes options in full alone."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, epilog=STATUSES, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Refuse the words.

        Raises:
            WrongUseError: always.
        """
        raise WrongUseError(f"{message}; {self.prog} --help says what it takes")


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], Answer],
    *,
    summary: str,
    description: str,
    json_help: str = "",
) -> Parser:
    """Add a command with the options that all have.

    With `json_help`, ``--json`` takes a file, as ``json_file``: stdout is somebody else's.
    """
    parser = commands.add_parser(name, help=summary, description=description)
    if json_help:
        parser.add_argument("--json", dest="json_file", metavar="FILE", type=named, help=json_help)
        parser.set_defaults(json=False)
    else:
        parser.add_argument("--json", action="store_true", help="answer with one JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.set_defaults(run=run)
    return parser


def count(text: str) -> int:
    """A number from 1."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def named(text: str) -> str:
    """The name of a file or folder: what a shell makes of an unset variable is none."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text
