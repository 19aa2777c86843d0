"""A process that has imported torch, and forks one session per request: each begins at once.

Reads ``{"id": …, "folder": …, "call": [module function, arguments]}`` lines, writes
``{"id", "pid"}`` when a session begins and ``{"pid", "status"}`` when a process ended. As the
subreaper of all that its sessions leave behind, it also waits for orphans, so that a process that
is listed in ``/proc`` is one that runs.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from tests.fault_matrix import scenes, trials, trials_of_parents

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_MODULES = {"scenes": [scenes], "trials": [trials, trials_of_parents]}


def main() -> None:
    """Serves until standard input ends."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    pending = b""
    while True:
        if select.select([0], [], [], 0.02)[0]:
            data = os.read(0, 1 << 16)
            if not data:
                return
            pending += data
        *lines, pending = pending.split(b"\n")
        for line in lines:
            request = json.loads(line)
            pid = os.fork()
            if pid == 0:
                _session(request)
                return
            _say(id=request["id"], pid=pid)
        _reap()


def _session(request: dict[str, Any]) -> None:
    os.setsid()
    folder = Path(request["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for fd, name in ((1, "out"), (2, "err")):
        file = os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(file, fd)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    module, function, arguments = request["call"]
    (script,) = (each for each in _MODULES[module] if hasattr(each, function))
    getattr(script, function)(*arguments)


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _say(pid=pid, status=os.waitstatus_to_exitcode(status))


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
