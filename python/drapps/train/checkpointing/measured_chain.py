"""What a profile says of each element of the chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.chain import Element, Segment, costs
from drapps.train.checkpointing.visits import Profile, Visit


def reasons_to_keep(profile: Profile, blocks: Sequence[Block]) -> dict[str, str]:
    """Why some blocks cannot be recomputed, in a sentence for each."""
    times = Counter(number for visit in profile.visits for number in visit.blocks)
    visits = {number: visit for visit in profile.visits for number in visit.blocks}
    reasons = {}
    for number, block in enumerate(blocks):
        if not times[number]:
            reasons[block.name] = "it does not run in the step"
        elif times[number] > 1:
            reasons[block.name] = f"it runs {times[number]} times in a step"
        elif not visits[number].plain:
            reasons[block.name] = (
                "it is given an object that a run may change, such as a cache of keys and values: "
                "use_cache = False in the configuration of a Hugging Face model leaves that out"
            )
        elif "forward" in block.module.__dict__:
            reasons[block.name] = "something else has put a forward of its own on it"
        elif number in profile.changed and block.run < 0:
            reasons[block.name] = "its input is changed in place after it has run"
        elif visits[number].changes_input and block.run < 0:
            reasons[block.name] = "it changes its input in place"
    return reasons


def chain_of(
    profile: Profile, blocks: Sequence[Block], reasons: dict[str, str], copy_rate: float | None
) -> list[Element]:
    """The elements of a step.

    Args:
        profile: of the plain step.
        blocks: of the model.
        reasons: why some must be kept, by their names.
        copy_rate: bytes per second to the host; None where nothing is offloaded.
    """
    visits = _merged(profile, blocks)
    given = [_given(visits, number) for number in range(len(visits))]
    shared = _shared(visits, given)
    elements: list[Element] = []
    counted: set[int] = set()
    for number, visit in enumerate(visits):
        own = [blocks[each] for each in visit.blocks]
        below = given[number] - shared
        above = given[number + 1] - shared if number + 1 < len(visits) else set()
        touched = (visit.saved | given[number]) & shared
        inner = visit.saved - shared - below - above
        together = bool(own) and id(own[0].parent) in profile.called
        elements.append(
            Element(
                names=tuple(each.name for each in own),
                saved=profile.size(inner),
                input=profile.size(below),
                kept_input=profile.size(below & visit.saved),
                kept_output=profile.size(above & visit.saved),
                shared=profile.size(touched - counted),
                largest=visit.largest,
                cached=profile.size(visit.casts & inner),
                seconds=sum(profile.seconds[each] for each in visit.blocks),
                offload_seconds=2 * profile.size(visit.saved) / copy_rate if copy_rate else None,
                run=own[0].run if together else -1,
                fixed=(len(own) != 1 and not together) or any(each.name in reasons for each in own),
                begins=not visit.changes_input and not profile.changed.intersection(visit.blocks),
            )
        )
        counted |= touched
    return _with_peaks(elements, visits)


def _merged(profile: Profile, blocks: Sequence[Block]) -> list[Visit]:
    """The visits, where one that changes its input in place is a part of the one before it."""
    visits: list[Visit] = []
    for visit in profile.visits:
        before = visits[-1].blocks if visits else ()
        run = blocks[visit.blocks[0]].run if visit.blocks else -1
        if visit.changes_input and run >= 0 and before and blocks[before[0]].run == run:
            visits[-1] = visits[-1].then(visit)
        else:
            visits.append(visit)
    return visits


def _given(visits: Sequence[Visit], number: int) -> set[int]:
    """What a block is given; what comes between blocks is given what the block before gives."""
    if visits[number].blocks:
        return visits[number].given
    return visits[number - 1].gives if number else set()


def _shared(visits: Sequence[Visit], given: Sequence[set[int]]) -> set[int]:
    """Storages that more than two neighbours have to do with, or that are given on."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, visit in enumerate(visits):
        for each in visit.saved | given[number]:
            first.setdefault(each, number)
            last[each] = number
    on = [one & two for one, two in pairwise(given)]
    return {each for each, number in last.items() if number > first[each] + 1}.union(*on)


def _with_peaks(elements: Sequence[Element], visits: Sequence[Visit]) -> list[Element]:
    """The elements with what they need above what was kept and cached in the profile."""
    chain: list[Element] = []
    kept = cached = 0
    after_kept = False
    for number, (element, visit) in enumerate(zip(elements, visits, strict=True)):
        ready = elements[number - 1].kept_output if after_kept else 0
        start = kept + cached + element.shared + max(element.input, ready)
        before_kept, after_kept = after_kept, visit.rerun is None
        segment = Segment(number, number, "keep" if after_kept else "recompute")
        step = costs(elements, segment, before_kept)
        kept += step.kept
        cached += step.cached
        if visit.rerun is not None:
            start = 0  # these are above what lived before
        interior = 0 if visit.rerun is None else visit.rerun - element.kept_output
        chain.append(
            replace(
                element,
                forward=max(visit.forward - start, 0),
                again=max(visit.again - start, 0),
                backward=max(visit.backward - kept - interior - element.kept_output, 0),
            )
        )
    return chain
