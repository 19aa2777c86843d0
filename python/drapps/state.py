"""The state of a loader: small, versioned, JSON-able, checked before it is believed.

Fields: ``kind`` and ``version`` say what it is; ``epoch`` and ``position`` where to go on: samples
of that epoch's order that the batches yielded have consumed. What else a kind of loader adds says
which stream the position belongs to, and must be the same when it is loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from drapps.errors import StateError

VERSION = 1
_EPOCHS = 1 << 32  # a word of the random numbers' coordinates
_POSITIONS = 1 << 63


def make(kind: str, epoch: int, position: int, stream: Mapping[str, Any]) -> dict[str, Any]:
    """A state: where to go on, and in which stream."""
    return {"kind": kind, "version": VERSION, "epoch": epoch, "position": position, **stream}


def with_cursors(state: dict[str, Any], cursors: bytes) -> dict[str, Any]:
    """A state with where its streams stand, so that one that goes on need not look for it."""
    if not cursors:
        return state
    text = base64.b64encode(cursors).decode()
    return {**state, "cursors": text, "cursors_digest": _digest(state, text)}


def cursors(state: Mapping[str, Any]) -> bytes:
    """What `with_cursors` was given; empty where a state has none.

    Raises:
        StateError: they were edited, or are of another position.
    """
    text = state.get("cursors", "")
    if text and state.get("cursors_digest") != _digest(state, text):
        raise StateError("the state's cursors are not as they were saved: it was cut or edited")
    return base64.b64decode(text)


def _digest(state: Mapping[str, Any], cursors: Any) -> str:
    text = json.dumps([state.get("epoch"), state.get("position"), cursors])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def check(state: Any, kind: str, stream: Mapping[str, Any]) -> tuple[int, int]:
    """The epoch and the position of a state.

    Args:
        state: what the user gave.
        kind: of loader that reads it.
        stream: what this loader would have written; fields of it must be equal in `state`.

    Raises:
        StateError: no such state, another version, or a state of another stream.
    """
    if not isinstance(state, Mapping) or state.get("kind") != kind:
        theirs = state.get("kind") if isinstance(state, Mapping) else type(state).__name__
        raise StateError(f"the state's kind is {theirs!r}, not {kind!r}: save it by state_dict()")
    if state.get("version") != VERSION:
        raise StateError(
            f"the state has version {state.get('version')!r}, this release reads {VERSION}"
        )
    for name, mine in stream.items():
        if name not in state:
            raise StateError(f"the state lacks {name!r}: it was cut or edited")
        if state[name] != mine:
            raise StateError(
                f"the state belongs to another stream: its {name} is {state[name]!r}, "
                f"this loader's is {mine!r}"
            )
    return whole(state, "epoch", _EPOCHS), whole(state, "position", _POSITIONS)


def whole(state: Mapping[str, Any], name: str, end: int = _EPOCHS) -> int:
    """A whole number in a state, from 0 to below `end`.

    Raises:
        StateError: the field is missing, or holds anything else.
    """
    value = typed(state, name, int)
    if isinstance(value, bool) or not 0 <= value < end:
        raise StateError(f"the state's {name} is {value!r}, not a whole number from 0 below {end}")
    return int(value)


def typed(state: Mapping[str, Any], name: str, kind: type) -> Any:
    """A field of a state.

    Raises:
        StateError: it is missing, or of another type.
    """
    if name not in state:
        raise StateError(f"the state lacks its {name}: it was cut or edited")
    if not isinstance(state[name], kind):
        raise StateError(
            f"the state's {name} is {state[name]!r}, not of type {kind.__name__}: it was edited"
        )
    return state[name]
