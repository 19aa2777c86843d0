"""What the user's code raised in a worker, as the training process raises it again."""

from __future__ import annotations

import pickle
import traceback

from torch._utils import ExceptionWrapper


class Failure(ExceptionWrapper):
    """As torch's wrapper: type, and the traceback as text, but always picklable.

    The sample that was being made stands before the last line of the traceback.
    A class that cannot be imported where it is raised again is replaced by RuntimeError; the text
    names it.
    """

    def __init__(self, error: Exception, where: str, sample: str) -> None:
        super().__init__((type(error), error, error.__traceback__), where)  # type: ignore[no-untyped-call]
        self.drawn: dict[str, bytes] = {}  # random states, as behind a batch of a serial worker
        message = "".join(traceback.format_exception_only(type(error), error))
        before, match, _ = self.exc_msg.rpartition(message)
        place = f"  while making {sample}\n"
        self.exc_msg = f"{before}{place}{message}" if match else f"{place}{self.exc_msg}"
        try:
            pickle.dumps(self.exc_type)
        except Exception:
            self.exc_type = RuntimeError


def failure_of(error: Exception, where: str, sample: str) -> Failure:
    """What is sent for `error`.

    Args:
        error: that was raised; its traceback ends in the user's code.
        where: behind "Caught ValueError".
        sample: what was being made.
    """
    return Failure(error, where, sample)
