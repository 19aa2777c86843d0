"""A progress bar on one line of a terminal; where there is none, a plain line once in a while."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 28


class Bar:
    """Shows how far one job is. Use it as a context: leaving it ends the line."""

    def __init__(self, title: str, stream: TextIO = sys.stderr) -> None:
        self._title = title
        self._stream = stream
        self._live = stream.isatty()
        self._period_s = 0.1 if self._live else 15.0
        self._last = time.monotonic() if not self._live else 0.0
        self._line = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        if self._live and self._line:
            self._stream.write("\n")

    def update(self, done: int, total: int, note: str = "") -> None:
        """Sets the state: `done` of `total`, with a note behind the bar."""
        share = min(done / total, 1.0) if total else 0.0
        filled = round(share * _WIDTH)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        self._line = f"{self._title:<34} {bar} {share:4.0%}  {note}"
        if time.monotonic() - self._last >= self._period_s:
            self._write()

    def _write(self) -> None:
        self._last = time.monotonic()
        if self._line:
            self._stream.write(f"\r\033[K{self._line}" if self._live else f"{self._line}\n")
            self._stream.flush()
