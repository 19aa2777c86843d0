"""Which activations are kept: against brute force, on chains that were made up."""

import itertools
import random
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from drapps.train.checkpointing import placement
from drapps.train.checkpointing.chain import Element, evaluate, plain, segments_from
from drapps.train.checkpointing.placement import EXACT, cheapest, lowest
from python.tests.cells import some_full


def made_chain(draw, length, runs=True):
    """Elements of any sizes, some of which cannot be recomputed."""
    chain = []
    for number in range(length):
        size = draw.randint(1, 40)
        chain.append(
            Element(
                names=(str(number),),
                saved=draw.randint(0, 100),
                input=size,
                kept_input=draw.choice([0, size]),
                kept_output=draw.choice([0, draw.randint(0, 30)]),
                shared=draw.choice([0, 0, 5]),
                forward=draw.randint(0, 120),
                again=draw.randint(0, 100),
                backward=draw.randint(0, 60),
                largest=draw.randint(0, 50),
                cached=draw.choice([0, 0, 20]),
                seconds=draw.randint(1, 50) / 16,
                offload_seconds=draw.choice([None, draw.randint(1, 50) / 16]),
                run=draw.choice([0, 0, 0, -1]) if runs else -1,
                fixed=draw.random() < 0.1,
                begins=draw.random() < 0.9,
            )
        )
    return chain


def placements(chain, first=0, offload=False):
    """All that there are."""
    if first == len(chain):
        yield ()
        return
    for segment in segments_from(chain, first, offload):
        for rest in placements(chain, segment.last + 1, offload):
            yield (segment, *rest)


def recomputed(placement):
    return sum(each.action == "recompute" for each in placement)


@pytest.mark.parametrize(("length", "offload"), [(1, True), (4, True), (6, True), (8, False)])
@pytest.mark.parametrize("seed", range(6))
def test_the_least_added_seconds_within_any_limit(length, offload, seed):
    chain = made_chain(random.Random(100 * length + seed), length)
    every = [evaluate(chain, each) for each in placements(chain, 0, offload)]
    peaks = sorted({each.peak for each in every})
    for limit in {peaks[0] - 1, *peaks[:: max(1, len(peaks) // 12)], peaks[-1]}:
        best = min((each.seconds for each in every if each.peak <= limit), default=None)
        segments = cheapest(chain, limit, offload=offload)
        if best is None:
            assert segments is None
            continue
        assert evaluate(chain, segments).peak <= limit
        assert evaluate(chain, segments).seconds == best


@pytest.mark.parametrize("runs", [False, True])
def test_chains_of_twelve(runs):
    chain = made_chain(random.Random(12), 12, runs)
    every = [evaluate(chain, each) for each in placements(chain)]
    assert len(every) >= 2**8
    peaks = sorted({each.peak for each in every})
    for limit in peaks[:: max(1, len(peaks) // 5)]:
        best = min(each.seconds for each in every if each.peak <= limit)
        segments = cheapest(chain, limit)
        assert evaluate(chain, segments).seconds == best
        assert evaluate(chain, segments).peak <= limit
    assert evaluate(chain, lowest(chain)).peak == peaks[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_the_least_peak_with_so_many_segments(seed, most):
    chain = made_chain(random.Random(seed), 7)
    every = [
        (evaluate(chain, each).peak, evaluate(chain, each).seconds)
        for each in placements(chain)
        if recomputed(each) <= most
    ]
    segments = lowest(chain, most)
    assert recomputed(segments) <= most
    assert (evaluate(chain, segments).peak, evaluate(chain, segments).seconds) == min(every)


def alike(length):
    """Blocks that save their input and three tensors more."""
    one = Element((), 30, 10, 10, forward=40, again=30, backward=10, seconds=1.0, run=0)
    return [replace(one, names=(str(number),)) for number in range(length)]


def test_blocks_that_are_alike_have_a_peak_of_about_two_square_roots():
    chain = alike(64)
    assert evaluate(chain, plain(chain)).peak == 64 * 40 + 10
    segments = lowest(chain, most=8)
    sizes = [each.last - each.first + 1 for each in segments if each.action == "recompute"]
    assert 6 <= len(sizes) <= 8
    assert evaluate(chain, segments).peak <= 8 * 10 + 10 * 40 + 50


def test_all_placements_of_long_chains_are_within_the_limit():
    chain = made_chain(random.Random(5), EXACT + 16)
    least = evaluate(chain, lowest(chain)).peak
    whole = evaluate(chain, plain(chain)).peak
    before = float("inf")
    for share in (0.25, 0.5, 0.75, 1.0):
        limit = least + int(share * (whole - least))
        cost = evaluate(chain, cheapest(chain, limit))
        assert cost.peak <= limit
        assert cost.seconds <= before
        before = cost.seconds
    assert before == 0.0


def test_every_placement_of_a_short_chain_is_listed_once():
    chain = [replace(each, begins=True, fixed=False, run=0) for each in alike(4)]
    every = list(placements(chain))
    assert len(every) == len(set(every))
    cuts = itertools.product([False, True], repeat=3)  # a segment of one is kept or recomputed
    sizes = [[len(list(group)) for group in runs_of(cut)] for cut in cuts]
    assert len(every) == sum(2 ** sum(size == 1 for size in each) for each in sizes)


def runs_of(cut):
    """The segments of four elements that are cut, or not, at three places."""
    groups = [[0]]
    for number, here in enumerate(cut, 1):
        if here:
            groups.append([])
        groups[-1].append(number)
    return groups


@pytest.mark.parametrize("seed", some_full(range(3), 0))
def test_long_chains_are_placed_about_as_well_as_exactly(seed, monkeypatch):
    chain = made_chain(random.Random(seed), EXACT + 8)
    least, whole = evaluate(chain, lowest(chain)).peak, evaluate(chain, plain(chain)).peak
    for share in (0.3, 0.6):
        limit = least + int(share * (whole - least))
        coarse = evaluate(chain, cheapest(chain, limit)).seconds
        with monkeypatch.context() as patch:
            patch.setattr(placement, "EXACT", 1000)
            exact = evaluate(chain, cheapest(chain, limit)).seconds
        assert exact <= coarse <= 1.05 * exact
