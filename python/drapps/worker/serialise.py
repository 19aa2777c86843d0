"""Objects as one pickle and its buffers, so that what is large crosses in shared memory."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from drapps.attributes import attributes_of, slots_of

SMALL = 512  # bytes below which a buffer of its own costs more than a copy in the pickle

Reduce = Callable[[Any], Any]


class UnpicklableError(TypeError):
    """An object that cannot be sent to another process; the message names it by its path."""


class Envelope:
    """Something of ours around what is sent: messages name what is in it, not the envelope."""

    def parts(self) -> list[tuple[str, Any]]:
        """What is in it, each behind what messages add to the name of the whole."""
        raise NotImplementedError


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], reduce: Reduce | None):
        def keep(buffer: pickle.PickleBuffer) -> bool:
            if buffer.raw().nbytes < SMALL:
                return True
            buffers.append(buffer)
            return False

        super().__init__(file, protocol=5, buffer_callback=keep)
        if reduce is not None:
            self.reducer_override = reduce  # type: ignore[method-assign]


def dump(value: Any, reduce: Reduce | None = None, name: str = "the object") -> list[Any]:
    """`value` as ``[pickle, buffer, …]``; the buffers are views of its memory.

    Args:
        value: what to send.
        reduce: as `pickle.Pickler.reducer_override`; made for this one call.
        name: what messages call `value`.

    Raises:
        UnpicklableError: `value` holds something that does not pickle.
    """
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    try:
        _Pickler(file, buffers, reduce).dump(value)
    except Exception as error:
        raise UnpicklableError(describe_unpicklable(value, name, error)) from error
    return [file.getbuffer(), *buffers]


def load(parts: Sequence[Any]) -> Any:
    """What `dump` was given. Its arrays and tensors are views of the buffers."""
    return pickle.loads(parts[0], buffers=parts[1:])


def describe_unpicklable(value: Any, name: str, error: BaseException) -> str:
    """Where in `value` the object lies that does not pickle, and what pickle said of it."""
    path, culprit = _find(value, name)
    kind = type(culprit)
    return (
        f"{path} ({kind.__module__}.{kind.__qualname__}) cannot be sent to another process: {error}"
    )


def _find(value: Any, path: str) -> tuple[str, Any]:
    """The innermost part of `value` that does not pickle by itself."""
    seen: set[int] = set()
    inner: tuple[str, Any] | None = ("", value)
    while inner is not None:
        path, value = path + inner[0], inner[1]
        seen.add(id(value))
        parts = (each for each in _parts(value) if id(each[1]) not in seen)
        inner = next((each for each in parts if not _pickles(each[1])), None)
    return path, value


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Envelope):
        return value.parts()
    if isinstance(value, dict):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    parts = [(f".{key}", part) for key, part in attributes_of(value).items()]
    return parts + [(f".{name}", part) for name, part in slots_of(value)]


def _pickles(value: Any) -> bool:
    try:
        pickle.dumps(value, protocol=5, buffer_callback=lambda _: False)
    except Exception:
        return False
    return True
