"""What the user's code raised in a worker, as the training process raises it again."""

from __future__ import annotations

import pickle

from torch._utils import ExceptionWrapper


class Failure(ExceptionWrapper):
    """As torch's wrapper: type, and the traceback as text; with the sample, and always picklable.

    A class that cannot be imported where it is raised again is replaced by RuntimeError; the text
    names it.
    """

    def __init__(self, error: Exception, where: str, sample: str) -> None:
        super().__init__((type(error), error, error.__traceback__), where)  # type: ignore[no-untyped-call]
        self.drawn: dict[str, bytes] = {}  # as behind a batch of a serial worker
        self.exc_msg = f"{self.exc_msg.rstrip()}\n  while making {sample}\n"
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
