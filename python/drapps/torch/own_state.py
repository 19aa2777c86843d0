"""What a dataset keeps on itself from one sample to the next: generators, counters, worker ids.

All that a dataset and its transforms hold is looked at before the first sample of a process and
again after some batches. What differs is the dataset's own state, but for a handle that was opened
(a file, a database, a lock): it is the same to every sample. What lies behind a handle is not
looked at, nor a global variable that is changed from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drapps.torch.object_picture import NOTHING, Picture, picture

_MOST_TOLD = 16  # changes


class Unwatched:
    """A dataset that is not looked at.

    Attributes:
        keeps_state: the first batch has changed the dataset.
    """

    keeps_state = False

    def sample_made(self) -> None:
        """Nothing is looked at."""

    def batch_made(self) -> dict[str, bool] | None:
        """None: nothing is known."""
        return None


class Watch(Unwatched):
    """Looks at a dataset, and what works on its samples, while samples are made."""

    def __init__(self, roots: Mapping[str, Any]) -> None:
        """Nothing was made yet.

        Args:
            roots: what to look at, by the names that paths begin with.
        """
        self._roots = roots
        self._seen = picture(roots)
        self._changed: dict[str, bool] = {}
        self._samples = 0
        self._batches = 0

    def sample_made(self) -> None:
        """Looks after the first sample: what is opened once is open then."""
        self._samples += 1
        if self._samples == 1:
            self._look(first=True)

    def batch_made(self) -> dict[str, bool] | None:
        """After the first batch, the second, the fourth, and so on: what has changed so far.

        By path, and whether what follows depends on how often it has changed, see `changes`.
        """
        self._batches += 1
        if self._batches & (self._batches - 1):
            return None
        first = self._batches == 1
        self._look(first=self._samples == 0 and first)
        if first:
            self.keeps_state = bool(self._changed)
        return self._changed

    def _look(self, first: bool) -> None:
        before, self._seen = self._seen, picture(self._roots)
        for path, lasting in changes(before, self._seen, first).items():
            self._changed[path] = lasting or self._changed.get(path, False)


def changes(before: Picture, after: Picture, first: bool) -> dict[str, bool]:
    """What differs between two pictures; not what is within something that differs.

    Gives, by a path such as ``dataset.transform.rng``, whether what follows depends on how often it
    has changed: so it is with a generator or a counter, and not with a container that has grown, or
    a value that was set once.

    Args:
        before: the earlier one.
        after: the later one.
        first: the first sample was made in between, which may have opened what stays open.
    """
    opened = _opened(before, after)
    paths: dict[str, bool] = {}
    for path, part in after.items():
        old = before.get(path)
        if len(paths) == _MOST_TOLD:
            break
        if part.kind == "handle" or (part == old and part.kind != "iterator"):
            continue
        if part.kind in ("generator", "iterator"):  # of an iterator the state cannot be seen
            paths[path] = True
        elif (old is None and path.startswith(opened)) or path.startswith(_within(paths)):
            continue
        elif part.kind != "object" or (old or NOTHING) != NOTHING:
            replaced = old is not None and part.identity != old.identity
            paths[path] = not first and (part.kind == "value" or replaced)
    for path, part in before.items():
        if path not in after and part.kind == "value" and not path.startswith(_within(paths)):
            paths[path] = False
    return paths


def _opened(before: Picture, after: Picture) -> tuple[str, ...]:
    """Where objects have come that hold a handle."""
    new = [
        path
        for path, part in after.items()
        if part.kind == "object" and before.get(path, NOTHING) == NOTHING
    ]
    handles = [path for path, part in after.items() if part.kind == "handle"]
    return _within(one for one in new if any(h.startswith(_within([one])) for h in handles))


def _within(paths: Iterable[str]) -> tuple[str, ...]:
    """How the paths begin of what is within."""
    return tuple(f"{path}{step}" for path in paths for step in ".[(")
