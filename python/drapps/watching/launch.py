"""Runs a command with hooks in all Python processes of it, as it would run without."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from drapps.errors import PipelineError
from drapps.watching.ranges import VARIABLE

SITE = Path(__file__).resolve().parent / "site"
_FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_BY_KERNEL = 0x80  # SI_KERNEL: a key of the terminal, which the command has got itself


def watched(folder: Path, ranges: bool = False) -> dict[str, str]:
    """Variables by which Python processes record what they do with loaders, in a folder.

    With `ranges`, their waits are ranges of profilers, too.
    """
    return {"DRAPPS_WATCH": str(folder), VARIABLE: str(int(ranges))}


def run(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs a command to its end, with hooks in its Python processes; signals are passed on to it.

    Args:
        words: of the command.
        variables: of its environment, which say what the hooks do.

    Returns:
        Its exit status; minus the number of the signal that has ended it.

    Raises:
        PipelineError: it cannot be started.
    """
    path = os.environ.get("PYTHONPATH")
    both = f"{SITE}{os.pathsep}{path}" if path else str(SITE)
    awaited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        try:
            child = subprocess.Popen(
                words,
                env={**os.environ, "PYTHONPATH": both, **variables},
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
            )
        except OSError as error:
            raise PipelineError(f"{words[0]} cannot be run: {error.strerror}") from None
        while child.poll() is None:
            info = signal.sigtimedwait(awaited, 1.0)
            if info is None or info.si_signo == signal.SIGCHLD:
                continue
            if info.si_code != _BY_KERNEL:
                child.send_signal(info.si_signo)
        return child.returncode
    finally:
        while signal.sigtimedwait(awaited, 0) is not None:
            continue
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_as(status: int) -> int:
    """Ends this process as a command has ended, if a signal has ended it; else its status."""
    if status >= 0:
        return status
    if -status not in (signal.SIGKILL, signal.SIGSTOP):  # which have no handler
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status
