"""The description of a pipeline as the core reads it; nothing else writes one.

`docs/reference/spec.md` says what the fields mean. A field that is None is left to the core. The
ops, and how batches are mixed, are made by `drapps.ops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from drapps.ops import Op

VERSION = 1


@dataclass(frozen=True)
class Decode:
    """How files become pictures."""

    color: str = "rgb"
    exif: str = "ignore"
    depth: str = "raise"
    cmyk: str | None = None


@dataclass(frozen=True)
class Tensor:
    """How pictures become numbers."""

    dtype: str = "float32"
    layout: str = "nchw"
    scale: bool = True
    reciprocal: bool | None = None
    mean: Sequence[float] | None = ()
    std: Sequence[float] | None = ()
    table: Sequence[float] | None = None


@dataclass(frozen=True)
class Mask:
    """How masks become numbers."""

    dtype: str
    channel: bool


MOST_ROWS = 2**31 - 1  # of a batch
REMAINDERS = ("even", "pad", "drop")  # what becomes of the last global batch


@dataclass(frozen=True)
class Sampler:
    """Which samples stand in which batch of which rank."""

    shuffle: bool = False
    seed: int = 0
    rank: int = 0
    world: int = 1
    batch: int = 1
    remainder: str = "even"

    @property
    def global_batch(self) -> int:
        """Samples that all ranks take with a step."""
        return self.batch * self.world


@dataclass(frozen=True)
class Spec:
    """A whole description."""

    decode: Decode = field(default_factory=Decode)
    ops: Sequence[Op] = ()
    tensor: Tensor = field(default_factory=Tensor)
    mask: Mask | None = None
    sampler: Sampler = field(default_factory=Sampler)
    seed: int = 0
    on_error: str = "raise"
    mix: Mapping[str, Any] | None = None
    max_boxes: int | None = None

    attached: ClassVar[Mapping[str, Any]] = {}  # what JSON cannot hold of it, for the core
    attached_digests: ClassVar[Sequence[str]] = ()  # of what is attached

    def to_json(self) -> dict[str, Any]:
        """The description as plain, JSON-able data."""
        return {"version": VERSION, **_fields(self)}


_PARTS = (Decode, Tensor, Mask, Sampler)


def _fields(described: Any) -> dict[str, Any]:
    """What is not None of a dataclass."""
    values = {each.name: getattr(described, each.name) for each in fields(described)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, _PARTS):
        return _fields(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
