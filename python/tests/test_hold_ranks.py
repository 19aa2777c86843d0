"""Ranks, remainders and resuming: every sample once, at any world size, in any process."""

import json

import numpy as np
import pytest

import drapps
from drapps.batch import PADDED
from python.tests.decode_files import jpeg
from python.tests.hold_streams import core, piece, pieces, records, run_script, train

SIZE = 60


@pytest.fixture(scope="module")
def source():
    record = jpeg("4:2:0", 40, 40)
    return train(drapps.image_bytes([record] * SIZE))


def ranks(source, world, remainder, batch, state=None):
    """One loader per rank, all from the same state."""
    loaders = []
    for rank in range(world):
        loader = source.shard(rank, world, remainder).batch(batch)
        if state is not None:
            loader.load_state_dict(state)
        loaders.append(loader)
    return loaders


def take(iterators, steps):
    """Rows of all ranks, step by step: (index, position, flags, picture bytes)."""
    rows = []
    for _ in range(steps):
        for iterator in iterators:
            batch = next(iterator).numpy()
            columns = (batch[name].tolist() for name in ("index", "position", "flags"))
            pictures = [row.tobytes() for row in batch["image"]]
            rows += list(zip(*columns, pictures, strict=True))
    return rows


@pytest.mark.parametrize("remainder", ["even", "pad", "drop"])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_every_sample_exactly_once_when_the_world_shrinks(source, remainder, taken):
    first = ranks(source, 3, remainder, 4)
    iterators = [iter(loader) for loader in first]
    rows = take(iterators, taken)
    states = [json.loads(json.dumps(loader.state_dict())) for loader in first]
    assert all(state == states[0] for state in states)
    second = ranks(source, 2, remainder, 5, states[0])
    iterators = [iter(loader) for loader in second]
    steps = [len(iterator) for iterator in iterators]
    assert steps[0] == steps[1]
    rows += take(iterators, steps[0])
    for iterator in iterators:
        with pytest.raises(StopIteration):
            next(iterator)

    real = [row for row in rows if not row[2] & PADDED]
    assert len({row[0] for row in real}) == len(real)
    rest = SIZE - 12 * taken
    expected = SIZE if remainder != "drop" else SIZE - rest % 10
    assert len(real) == expected
    assert sorted(row[1] for row in real) == list(range(expected))
    alone = take([iter(source.batch(SIZE))], 1)
    wanted = {position: (index, pixels) for index, position, _, pixels in alone}
    assert all(wanted[position] == (index, pixels) for index, position, _, pixels in real)


@pytest.mark.parametrize("remainder", ["even", "pad", "drop"])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_all_ranks_take_equal_steps(source, world, remainder):
    for batch in (1, 4, 7):
        loaders = ranks(source, world, remainder, batch)
        steps = [len(loader) for loader in loaders]
        assert len(set(steps)) == 1
        assert all(sum(1 for _ in loader) == steps[0] for loader in loaders)


def test_a_remainder_smaller_than_the_world_is_refused_where_it_would_be_split():
    record = jpeg("4:2:0", 40, 40)
    source = drapps.image_bytes([record] * 13).center_crop(16)  # 2 x 6, and one row for two ranks
    with pytest.raises(drapps.PipelineError, match="rank"):
        source.shard(0, 2).batch(3)
    assert len(source.shard(0, 2, "pad").batch(3)) == 3
    assert len(source.shard(0, 2, "drop").batch(3)) == 2


def test_any_step_of_any_rank_resumes_in_a_new_process_under_other_settings(tmp_path):
    contents = records(24)
    for number, record in enumerate(contents):
        (tmp_path / f"{number:02}").write_bytes(record)
    wanted = {
        rank: pieces(core(train(drapps.image_bytes(contents)).shard(rank, 2), 3)) for rank in (0, 1)
    }
    script = """
import sys
from pathlib import Path
import drapps
from python.tests.hold_streams import core, pieces, train
records = [path.read_bytes() for path in sorted(Path(sys.argv[1]).iterdir())]
for rank in (0, 1):
    source = train(drapps.image_bytes(records)).shard(rank, 2)
    loader = core(source, 3, policy="random_raw", cpu_budget=3)
    for step in range(5):
        print(pieces(loader, 0, 6 * step))
"""
    lines = run_script(script, tmp_path).splitlines()
    assert lines == [str(wanted[rank][step:]) for rank in (0, 1) for step in range(5)]


def test_a_state_is_small_json_and_survives_any_length(source):
    big = source.shard(1, 3).batch(4)
    iterator = iter(big)
    next(iterator)
    state = big.state_dict()
    assert len(json.dumps(state)) <= 4096
    assert json.loads(json.dumps(state)) == state
    other = source.shard(1, 3).batch(4)
    other.load_state_dict(json.loads(json.dumps(state)))
    assert [piece(batch) for batch in other] == [piece(batch) for batch in iterator]


def test_an_order_of_a_million_samples_has_a_state_as_small():
    record = jpeg("4:2:0", 16, 16)
    loader = drapps.image_bytes([record] * 1_000_000).center_crop(8).shuffle(3).batch(16)
    iterator = iter(loader)
    seen = [np.asarray(next(iterator)["index"]).copy() for _ in range(3)]
    state = json.dumps(loader.state_dict())
    assert len(state) <= 4096
    assert len(set(np.concatenate(seen).tolist())) == 48
