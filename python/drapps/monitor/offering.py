"""What the loaders of this package do at each pass, so that they can be watched."""

from __future__ import annotations

import os
from collections.abc import Callable

from drapps import _core
from drapps.monitor.observing import Observation, Observer
from drapps.monitor.server import offer
from drapps.policy import Policy, choice

Look = Callable[[], Observation]


def observed(earlier: Observer | None, kind: str, dataset: str, look: Look) -> Observer:
    """The observer of a loader that begins a pass; the loader and its iterators keep it.

    Args:
        earlier: what this gave at the pass before, or None.
        kind: the loader's class.
        dataset: what it loads, in a word.
        look: as of `Observer`. It keeps neither the loader nor an iterator alive.
    """
    offer()
    if earlier is not None and earlier.process == os.getpid():
        earlier.look = look
        return earlier
    return Observer(kind, dataset, look)


def native_look(native: _core.Loader, policy: Policy | None) -> Look:
    """Looks at a loader of the core."""

    def look() -> Observation:
        return Observation("native", choice(policy, "threads"), native.stats(), native.explain())

    return look
