"""How long the training step waits for a batch, and what is done meanwhile."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable

from drapps.errors import WorkerDiedError, WorkerStartError
from drapps.torch.requests import Requests
from drapps.worker.commands import SentCommand
from drapps.worker.processes import WorkerProcesses

_log = logging.getLogger("drapps")
_SLICE = 0.05  # seconds between looks at signals and at the processes
_CHECK_PERIOD = 1.0  # seconds between looks at the processes while nobody has to wait


class ResultWaiter:
    """Waits for results, with an eye on the processes that make them."""

    def __init__(self, timeout: float, stall_report: float) -> None:
        """Waits during all passes of an iterator.

        Args:
            timeout: seconds after which waiting is an error; 0 for never.
            stall_report: seconds after which the stacks of all processes are logged.
        """
        self._timeout = timeout
        self._stall_report = stall_report

    def wait(
        self, requests: Requests, processes: WorkerProcesses, look_after: Callable[[], None]
    ) -> SentCommand:
        """The next command that is done; not among the sent any more.

        Args:
            requests: of the pass.
            processes: that are waited for.
            look_after: sees to them, and raises where nobody is to be waited for.

        Raises:
            RuntimeError: the timeout.
        """
        began = time.monotonic()
        stall_report = self._stall_report
        window, control = requests.window, processes.control
        if requests.exhausted or processes.board.done(window.sent[-1].ticket):
            control.idle()
        if began - processes.looked > _CHECK_PERIOD:
            look_after()
        control.waits()
        while True:
            sent = window.finished()
            if sent is not None:
                control.waited()
                processes.recovery.progressed()
                return sent
            window.wait(_SLICE)
            waited = time.monotonic() - began
            processes.autoscaler.step()
            if waited >= _SLICE:
                look_after()
            if 0 < self._timeout <= waited:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            if waited >= stall_report:
                stall_report = float("inf")
                _report_stall(waited, processes)


def _report_stall(waited: float, processes: WorkerProcesses) -> None:
    _log.warning(
        "no batch for %.0f s. The training process waits in:\n%s\n%s",
        waited,
        "".join(traceback.format_stack(sys._getframe(1))),
        processes.pool.stacks(),
    )


class Ended:
    """Nothing comes any more, for those who ask again."""

    def __init__(self, error: BaseException) -> None:
        """Ended by `error`, which was raised; an error of a worker has told all by that."""
        self._untold: WorkerDiedError | None = None
        if not isinstance(error, (WorkerDiedError, WorkerStartError)):
            self._untold = WorkerDiedError(
                f"{error!r} came while a worker process was looked after"
            )

    def raise_next(self) -> None:
        """Raises what was not told, then the end of the iteration."""
        untold, self._untold = self._untold, None
        raise untold or StopIteration
