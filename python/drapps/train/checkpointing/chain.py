"""A step as a chain of elements, and the bytes that live while a placement of it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["keep", "recompute", "offload"]


@dataclass(frozen=True)
class Element:
    """A block, or what the model does between two blocks. All sizes are bytes.

    Attributes:
        names: of the blocks in the model; none between blocks, several where one changes in place
            what the one before it gives.
        saved: that it keeps for the backward pass, without its input, its output and `shared`.
        input: of the tensors that it is given and that were made within the step.
        kept_input: the part of `input` that it keeps for its backward pass.
        kept_output: the part of the next element's input that it keeps itself.
        shared: that several elements keep, or one far behind; counted where they are met first,
            and kept in every placement.
        forward: the most that live above what lived when it began, in its forward pass.
        again: the same up to the last tensor that it saves, where a recomputation may stop.
        backward: the most that live in its backward pass above what it and those before it keep.
        largest: its largest saved tensor.
        cached: copies of parameters that autocast keeps until the forward pass of the model is
            over, whatever becomes of the element; a part of `saved`.
        seconds: of its forward pass.
        offload_seconds: to copy what it saves to the host and back; None where nothing can be.
        run: blocks that follow one another in the same run may share a segment; -1 for none.
        fixed: it cannot be recomputed.
        begins: a segment may begin with it.
    """

    names: tuple[str, ...]
    saved: int
    input: int = 0
    kept_input: int = 0
    kept_output: int = 0
    shared: int = 0
    forward: int = 0
    again: int = 0
    backward: int = 0
    largest: int = 0
    cached: int = 0
    seconds: float = 0.0
    offload_seconds: float | None = None
    run: int = -1
    fixed: bool = False
    begins: bool = True


@dataclass(frozen=True)
class Segment:
    """The elements `first` to `last`, and what is done with their activations."""

    first: int
    last: int
    action: Action


Placement = tuple[Segment, ...]
Chain = Sequence[Element]


@dataclass(frozen=True)
class Step:
    """What a segment adds when it follows others.

    Attributes:
        kept: bytes that live until its backward pass is over.
        cached: bytes that live, beside these, until the forward pass of the model is over.
        forward: the most bytes that live in its forward pass above what those before it keep and
            what is cached.
        backward: the most bytes that live in its backward pass above what those before it keep.
        seconds: that it takes beyond the plain step.
    """

    kept: int
    cached: int
    forward: int
    backward: int
    seconds: float


def costs(chain: Chain, segment: Segment, after_kept: bool) -> Step:
    """What a segment adds.

    Args:
        chain: all elements.
        segment: the one to look at.
        after_kept: whether the element before it keeps its activations.
    """
    first = chain[segment.first]
    ready = chain[segment.first - 1].kept_output if segment.first and after_kept else 0
    if segment.action == "recompute":
        return _recomputed(chain, segment, max(first.input, ready))
    forward = first.shared + max(first.input, ready) + first.forward
    if segment.action == "offload":
        kept = first.shared + ready
        backward = kept + first.largest + first.backward
        return Step(kept, first.cached, forward, backward, first.offload_seconds or 0.0)
    kept = first.shared + max(first.kept_input, ready) + first.saved
    return Step(kept, 0, forward, kept + first.kept_output + first.backward, 0.0)


def _recomputed(chain: Chain, segment: Segment, given: int) -> Step:
    """What a recomputed segment adds that keeps so many bytes of what it is given.

    Its forward pass needs no more than running again does, but for what is cached by then.
    """
    kept, peak, interior, cached, seconds = given, 0, 0, 0, 0.0
    gradient = chain[segment.last + 1].input if segment.last + 1 < len(chain) else 0
    for number in range(segment.first, segment.last + 1):
        one = chain[number]
        boundary = 0
        if number > segment.first:
            boundary = max(one.kept_input, chain[number - 1].kept_output)
            peak = max(peak, interior + one.input + gradient)
        forward = one.again if number == segment.last else one.forward
        peak = max(peak, interior + boundary + forward + gradient)
        interior += boundary + one.saved
        peak = max(peak, interior + one.kept_output + one.backward)
        kept += one.shared
        cached += one.cached
        seconds += one.seconds
    return Step(kept, cached, kept + cached + gradient, kept + peak, seconds)


def segments_from(chain: Chain, first: int, offload: bool) -> Iterator[Segment]:
    """All segments that may begin at an element."""
    one = chain[first]
    yield Segment(first, first, "keep")
    if one.fixed:
        return
    if offload and one.offload_seconds is not None:
        yield Segment(first, first, "offload")
    if not one.begins:
        return
    last = first
    yield Segment(first, last, "recompute")
    while one.run >= 0 and last + 1 < len(chain):
        last += 1
        if chain[last].run != one.run or chain[last].fixed:
            return
        yield Segment(first, last, "recompute")


@dataclass(frozen=True)
class Outcome:
    """What a placement comes to: its peak in bytes, and the seconds beyond the plain step."""

    peak: int
    seconds: float


def evaluate(chain: Chain, placement: Placement) -> Outcome:
    """What a placement comes to."""
    kept = cached = peak = 0
    seconds = 0.0
    after_kept = False
    for segment in placement:
        step = costs(chain, segment, after_kept)
        peak = max(peak, kept + step.backward, kept + cached + step.forward)
        kept += step.kept
        cached += step.cached
        seconds += step.seconds
        after_kept = segment.action == "keep"
    return Outcome(peak, seconds)


def plain(chain: Chain) -> Placement:
    """All activations are kept."""
    return tuple(Segment(number, number, "keep") for number in range(len(chain)))
