"""What the iterator over worker processes has asked for, and what has come of it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from drapps.worker.child import Batch, Resume


@dataclass
class Asked:
    """A batch that is being made, or the beginning of a pass."""

    ticket: int
    worker: int
    order: Batch | Resume
    position: int
    sampler_state: Any = None


@dataclass
class Taken:
    """A result that has come, and its way into pinned memory, if it takes that."""

    asked: Asked
    kind: int
    parts: list[Any]
    transfer: Future[Any] | None
