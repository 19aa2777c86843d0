"""What a command answers: to people, or with --json to programs."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any, TextIO


@dataclass(frozen=True)
class Answer:
    """The end of a command.

    Attributes:
        text: the answer for people.
        facts: the same for programs.
        error: why the command failed, or nothing.
        status: the exit status where there is no error.
    """

    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    status: int = 0

    def tell(self, *, as_json: bool, quiet: bool, out: TextIO) -> None:
        """Write the answer to `out`, and the error to stderr.

        Raises:
            OSError: `out` takes nothing.
        """
        if self.error:
            complain(self.error)
        if as_json:
            error = {"error": self.error} if self.error else {}
            print(json.dumps(error | self.facts, indent=2), file=out, flush=True)
        elif self.text and not quiet:
            print(self.text, file=out, flush=True)


def complain(error: str) -> None:
    """Say on stderr what went wrong, in one line."""
    print(f"drapps: {shown(error)}", file=sys.stderr, flush=True)


def shown(text: str | os.PathLike[str]) -> str:
    """The text, or the name of a file, in one line that every terminal can show."""
    return "".join(
        letter if letter.isprintable() else repr(letter)[1:-1] for letter in os.fspath(text)
    )


def error_text(error: Exception) -> str:
    """What an error says, of the system's errors without their number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)
