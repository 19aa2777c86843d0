"""Limits of the system on what workers need, as errors that say which to raise."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from drapps.errors import WorkerStartError

# What the system says where a limit is reached.
_LIMITS = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC}


@contextlib.contextmanager
def limits_named(what: str) -> Iterator[None]:
    """Raises a `WorkerStartError` where a limit keeps the system from making `what`."""
    try:
        yield
    except (OSError, MemoryError, EOFError) as error:  # EOFError: of a fork server that ended
        if isinstance(error, OSError) and error.errno not in _LIMITS:
            raise
        raise not_made(what, error) from error


def not_made(what: str, why: object) -> WorkerStartError:
    """The error that says which limits keep the system from making `what`."""
    return WorkerStartError(
        f"the system makes no {what} ({why}): lower num_workers, or raise the limits on "
        "processes (ulimit -u), on open files (ulimit -n) or on memory"
    )
