"""A process that plays a scenario: ``python -m drapps.scenario.player``, for `runner` alone.

It speaks lines of JSON. In comes what to play, and once ``{}``, which begins it; out come events:

    {"event": "ready"}                       the dataset is there
    {"event": "began", "origin": seconds}    on the monotonic clock
    {"event": "result", …}                   of `Run`, what was measured
    {"event": "failed", "error": …}          instead: the user's mistake

When its input ends, it ends at once, with all processes that it has started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
from typing import Any

from drapps.errors import PipelineError


def main() -> None:
    """Plays what is asked for."""
    # Input and output are taken away from all else, so that nothing can be lost or break them.
    asked, answers = os.dup(0), os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, lines), daemon=True).start()

    def tell(event: str, **more: Any) -> None:
        answers.write(json.dumps({"event": event, **more}, default=str) + "\n")
        answers.flush()

    spec: dict[str, Any] = json.loads(lines.get())
    try:
        from drapps.scenario.performance import Performance

        performance = Performance(spec)
        tell("ready")
        lines.get()
        tell("result", **performance.run(lambda origin: tell("began", origin=origin)))
    except PipelineError as error:
        tell("failed", error=str(error))


def _listen(asked: int, lines: queue.SimpleQueue[bytes]) -> None:
    """Passes lines on; when they end, so does this process and its group, of which it is first."""
    rest = b""
    while block := os.read(asked, 65536):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            lines.put(line)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
