"""How far a command is."""

from __future__ import annotations

import argparse
import sys
import time

INTERVAL = 0.1  # seconds
_WIDTH = 30  # letters of a bar


class Progress:
    """A line on the terminal that says how far it is; nothing where stderr is none."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._wanted = sys.stderr.isatty() and not (chosen.quiet or chosen.json)
        self._next = time.monotonic() + INTERVAL

    def __call__(self, done: int, of: int) -> None:
        """Show how many of the files are done."""
        self.say(f"{done} of {of} files")

    def bar(self, share: float, text: str) -> None:
        """Show a share that is done, and a text behind it."""
        full = int(share * _WIDTH)
        self.say(f"{share:4.0%} [{'#' * full}{'.' * (_WIDTH - full)}] {text}")

    def say(self, text: str) -> None:
        """Show a text, if the last one was shown long enough."""
        if self._wanted and (now := time.monotonic()) >= self._next:
            self._next = now + INTERVAL
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._wanted:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
