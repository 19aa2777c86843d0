"""What one step does, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from drapps.train.checkpointing.blocks import Block


@dataclass
class Visit:
    """A block in one step, or what comes between two blocks.

    Attributes:
        blocks: their numbers; none between blocks, several where those that follow the first change
            in place what they are given.
        given: storages that it is given.
        gives: storages that it gives.
        saved: storages that it saves, without parameters and what was there before the step.
        casts: of `saved`, copies of parameters in another type.
        largest: bytes of its largest saved tensor.
        start: bytes that live when it begins.
        forward: the most bytes that live in its forward pass.
        again: the same, up to the last tensor that it saves.
        backward: the most bytes that live in its backward pass.
        plain: it is given tensors and numbers alone.
        changes_input: it changes what it is given, in place.
        rerun: bytes that live more when it has run again; None where it did not. `forward` and
            `again` are of that run then, and above what lived before it.
    """

    blocks: tuple[int, ...]
    given: set[int] = field(default_factory=set)
    gives: set[int] = field(default_factory=set)
    saved: set[int] = field(default_factory=set)
    casts: set[int] = field(default_factory=set)
    largest: int = 0
    start: int = 0
    forward: int = 0
    again: int = 0
    backward: int = 0
    plain: bool = True
    changes_input: bool = False
    rerun: int | None = None

    @property
    def idle(self) -> bool:
        """Nothing is done between two blocks."""
        return not self.blocks and not self.saved and self.forward == self.start

    def then(self, other: Visit) -> Visit:
        """This one and the next as one."""
        return Visit(
            self.blocks + other.blocks,
            self.given,
            other.gives,
            self.saved | other.saved,
            self.casts | other.casts,
            max(self.largest, other.largest),
            self.start,
            max(self.forward, other.forward),
            max(self.again, other.again),
            max(self.backward, other.backward),
            self.plain and other.plain,
            self.changes_input,
        )


@dataclass(frozen=True)
class Profile:
    """What one plain step does.

    Attributes:
        visits: in the order of the forward pass.
        sizes: bytes of each storage.
        seconds: of each block's forward pass, by its number.
        step_seconds: of the whole step; without the forward passes that run again.
        peak: the most bytes that live at once; None where blocks were recomputed.
        called: sequences that were called as a whole, by their id.
        changed: numbers of blocks whose input something changes in place when they have run.
    """

    visits: Sequence[Visit]
    sizes: dict[int, int]
    seconds: dict[int, float]
    step_seconds: float
    peak: int | None
    called: set[int]
    changed: set[int]

    def size(self, storages: set[int]) -> int:
        """Bytes of these storages together."""
        return sum(self.sizes[each] for each in storages)


@contextmanager
def hooked(
    blocks: Sequence[Block], enter: Callable[..., None], leave: Callable[..., None]
) -> Iterator[None]:
    """Within, `enter` is called with a block's number and inputs, `leave` with its output too."""
    handles = []
    try:
        for number, block in enumerate(blocks):

            def before(_: Any, args: Any, kwargs: Any, number: int = number) -> None:
                enter(number, (args, kwargs))

            def after(_: Any, args: Any, kwargs: Any, output: Any, number: int = number) -> None:
                leave(number, (args, kwargs), output)

            handles.append(block.module.register_forward_pre_hook(before, with_kwargs=True))
            handles.append(block.module.register_forward_hook(after, with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
