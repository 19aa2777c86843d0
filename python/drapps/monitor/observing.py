"""What can be seen of the loaders of this process, from another thread than theirs."""

from __future__ import annotations

import itertools
import json
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass

_numbers = itertools.count(1)
_observers: dict[int, weakref.ref[Observer]] = {}  # by number; each use of it is atomic


@dataclass(frozen=True)
class Observation:
    """A loader, in JSON as the core writes it: nothing is read and written again.

    Attributes:
        path: ``native``, or ``python``.
        choice: as of `Explanation`.
        stats: what ``stats()`` is made of.
        explanation: what ``explain()`` is made of; its plan need not have the path.
    """

    path: str
    choice: str
    stats: str
    explanation: str


class Observer:
    """Sees one loader. It lives as long as the loader, or an iterator of it.

    Attributes:
        number: of the loader, among those of the process, from 1.
        kind: its class.
        dataset: what it loads, in a word.
        look: gives what is to be seen. It may be called in any thread, makes nothing, and waits for
            no batch.
    """

    def __init__(self, kind: str, dataset: str, look: Callable[[], Observation]) -> None:
        self.number = next(_numbers)
        self.kind, self.dataset, self.look = kind, dataset, look
        self.process = os.getpid()
        number = self.number
        _observers[number] = weakref.ref(self, lambda _: _observers.pop(number, None))

    def listed(self) -> dict[str, object]:
        """The loader as its process lists it."""
        return {"number": self.number, "kind": self.kind, "dataset": self.dataset}

    def to_json(self, time_s: float) -> str:
        """All that is seen of the loader, as of a time."""
        seen = self.look()
        head = {**self.listed(), "time_s": time_s, "path": seen.path, "choice": seen.choice}
        body = f'"stats": {seen.stats}, "explanation": {seen.explanation}'
        return f"{json.dumps(head)[:-1]}, {body}}}"


def observers() -> list[Observer]:
    """The observers of all loaders of this process that have begun a pass, by number."""
    living = [reference() for reference in list(_observers.values())]
    return [each for each in living if each is not None and each.process == os.getpid()]


def observer_of(number: int) -> Observer | None:
    """The observer of one loader; None where it is gone."""
    return next((each for each in observers() if each.number == number), None)
