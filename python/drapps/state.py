"""The state of a loader: a small versioned record, JSON-able, checked before it is believed.

Fields: ``kind`` and ``version`` say what it is; ``epoch`` and ``position`` where to go on: samples
of that epoch's order that the batches yielded have consumed. What else a kind of loader adds says
which stream the position belongs to, and must be the same when it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drapps.errors import PipelineError

VERSION = 1


def record(kind: str, epoch: int, position: int, stream: Mapping[str, Any]) -> dict[str, Any]:
    """A record of where to go on, and in which stream."""
    return {"kind": kind, "version": VERSION, "epoch": epoch, "position": position, **stream}


def check(state: Any, kind: str, stream: Mapping[str, Any]) -> tuple[int, int]:
    """The epoch and the position of a record.

    Args:
        state: what the user gave.
        kind: of loader that reads it.
        stream: what this loader would have written; fields of it must be equal in `state`.

    Raises:
        PipelineError: no such record, another version, or a record of another stream.
    """
    if not isinstance(state, Mapping) or state.get("kind") != kind:
        found = state.get("kind") if isinstance(state, Mapping) else type(state).__name__
        raise PipelineError(
            f"the state is no {kind!r} record but {found!r}: save it by state_dict()"
        )
    if state.get("version") != VERSION:
        raise PipelineError(
            f"the state has version {state.get('version')!r}, this release reads {VERSION}"
        )
    for name, mine in stream.items():
        if name not in state:
            raise PipelineError(f"the state lacks {name!r}: it was cut or edited")
        if state[name] != mine:
            raise PipelineError(
                f"the state belongs to another stream: its {name} is {state[name]!r}, "
                f"this loader's is {mine!r}"
            )
    epoch, position = state.get("epoch"), state.get("position")
    for name, value in (("epoch", epoch), ("position", position)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise PipelineError(f"the state's {name} is {value!r}, not a whole number from 0")
    assert isinstance(epoch, int) and isinstance(position, int)
    return epoch, position
