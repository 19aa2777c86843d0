"""What the server answers, and how often it looks for that."""

from __future__ import annotations

import json
import os
import sys
import time

from drapps import _core
from drapps.monitor.observing import observer_of, observers
from drapps.monitor.protocol import (
    ANSWER_BYTES,
    VERSION,
    Request,
    RequestError,
    line_of,
    request_of,
)

_FRESH = 0.05  # seconds for which an answer is given again, so that nobody makes us look more often
_MOST_KEPT = 16  # answers
_MOST_LOADERS = 256  # listed of a process
_JOB = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
_LONGEST_JOB = 300  # characters
_LONGEST_COMMAND = 1000  # characters shown of it


class Answers:
    """Answers to requests, each kept while it is fresh."""

    def __init__(self) -> None:
        self._kept: dict[Request, tuple[float, bytes]] = {}

    def to(self, line: bytes) -> bytes:
        """The answer to a request, or the error in its place, as a line."""
        try:
            request = request_of(line)
        except RequestError as error:
            return error.line()
        now = time.monotonic()
        kept = self._kept.get(request)
        if kept is not None and now - kept[0] < _FRESH:
            return kept[1]
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        answer = _answer(request, now)
        self._kept[request] = now, answer
        return answer

    def forget(self) -> None:
        """Keeps nothing."""
        self._kept.clear()


def _answer(request: Request, now: float) -> bytes:
    try:
        text = _loader(request.number, now) if request.ask == "loader" else _process(now)
        line = line_of(text)
        if len(line) > ANSWER_BYTES:
            raise RequestError("too_large", f"the answer has more than {ANSWER_BYTES} bytes")
    except RequestError as error:
        return error.line()
    except Exception as error:  # whatever it was, the loader goes on
        kind = type(error).__name__
        return RequestError("failed", f"the statistics cannot be read: {kind}: {error}").line()
    return line


def _process(now: float) -> str:
    listed = [each.listed() for each in observers()]
    process = {
        "pid": os.getpid(),
        "drapps": sys.modules["drapps"].__version__,
        "command": " ".join(sys.orig_argv)[:_LONGEST_COMMAND],
        "rank": os.environ.get("RANK", ""),
        "world": os.environ.get("WORLD_SIZE", ""),
        "job": _job(),
        "time_s": now,
        "memory": _core.memory(),
        "loaders": listed[-_MOST_LOADERS:],
    }
    return json.dumps({"version": VERSION, "process": process})


def _job() -> str:
    """What the ranks of one training have in common; empty of a process that is no rank."""
    if os.environ.get("WORLD_SIZE", "1") in ("", "0", "1"):
        return ""
    return " ".join(os.environ.get(name, "") for name in _JOB).strip()[:_LONGEST_JOB]


def _loader(number: int, now: float) -> str:
    observer = observer_of(number)
    if observer is None:
        raise RequestError("no_loader", f"there is no loader {number} any more")
    return f'{{"version": {VERSION}, "loader": {observer.to_json(now)}}}'
