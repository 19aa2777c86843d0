"""What decoding has learnt of JPEG files, in a table that all processes of a loader share."""

from __future__ import annotations

from multiprocessing import reduction
from typing import Any

from drapps import _core
from drapps.worker.descriptor import Descriptor

_PER_SAMPLE = 16 << 10  # bytes: two pictures with an entry for every 8 blocks in each row of blocks
_PER_PICTURE = 8 << 10
_LEAST = 1 << 20
_UNKNOWN = 1 << 14  # samples of a dataset that does not say how many it has
_SHARE, _SHARE_OF_REST = 16, 4  # of the memory budget, and of what is left of it, at the most


class Indexes:
    """A table. A forked process has it already; others attach to it.

    Attributes:
        table: as the core has it.
    """

    def __init__(self, table: _core.Indexes) -> None:
        self.table = table

    @classmethod
    def for_samples(cls, samples: int) -> Indexes | None:
        """A new table for so many `samples`; 0: that is not known. None without memory for it."""
        memory = _core.memory()
        limit, used = int(memory["limit"]), int(memory["used"])
        most = min(limit // _SHARE, max(limit - used, 0) // _SHARE_OF_REST)
        budget = max(_LEAST, min((samples or _UNKNOWN) * _PER_SAMPLE, most))
        try:
            return cls(_core.Indexes.make(budget, max(samples, budget // _PER_PICTURE)))
        except (OSError, ValueError):
            return None

    def __reduce__(self) -> Any:
        return _attached, (reduction.DupFd(self.table.fd),)


def _attached(duplicate: Any) -> Indexes | None:
    memory = Descriptor(duplicate.detach())
    try:
        return Indexes(_core.Indexes.attach(memory.fd))
    except (OSError, ValueError):  # a limit; pictures are decoded from the top then
        return None


def samples_in(dataset: Any) -> int:
    """How many samples a dataset has; 0 where it does not say that."""
    try:
        return len(dataset)
    except Exception:  # whatever a user's own method raises
        return 0


def described(stats: dict[str, Any]) -> str:
    """The statistics of a table as a part of a sentence; empty where it has served nothing yet."""
    asked = stats["hits"] + stats["misses"]
    if not stats["hits"]:
        return ""
    mib = stats["bytes"] / (1 << 20)
    known = f"{stats['samples']:,} pictures ({mib:.1f} MiB)"
    return f"{stats['hits'] / asked:.0%} of decoding began within the file, by an index of {known}"
