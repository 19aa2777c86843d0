"""One stream, byte for byte, whatever the machine, the knobs and the policy do."""

import json
import random
import threading
from collections import Counter

import numpy as np
import pytest

import drapps
from drapps import _core
from drapps.policy import TRAINED, to_json
from drapps.simulation.gate import LEARNED
from drapps.stream import Stream
from python.tests.decode_files import encode, jpeg, photo, picture
from python.tests.hold_streams import core, piece, pieces, records, run_script, train, write_files

GRIDS = {
    "workers": [1, 2, 3, 4, 6],
    "io_depth": [1, 2, 8, 32],
    "prefetch_depth": [1, 2, 4, 8],
    "fused": [0, 1],
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    contents = records(57)
    paths = write_files(tmp_path_factory.mktemp("stream"), contents)
    return {"memory": drapps.image_bytes(contents), "files": drapps.images(paths)}


@pytest.fixture(scope="module")
def expected(sources):
    loader = core(train(sources["memory"]), cpu_budget=1)
    return [pieces(loader, epoch) for epoch in (0, 1)]


def moved(loader, lane_weights=None, **knobs):
    """The loader's settings with these knobs instead."""
    settings = json.loads(loader.settings())
    settings["knobs"].update(knobs)
    settings["lane_weights"] = lane_weights or settings["lane_weights"]
    return settings


def test_epochs_differ_and_each_repeats(sources, expected):
    loader = core(train(sources["memory"]))
    assert pieces(loader, 1) == expected[1] != expected[0] == pieces(loader, 0)


@pytest.mark.parametrize("fused", [0, 1])
@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_workers_and_lanes_do_not_change_it(sources, expected, kind, workers, fused):
    loader = core(train(sources[kind]), cpu_budget=7)
    settings = moved(loader, workers=workers, fused=fused)
    loader = core(train(sources[kind]), cpu_budget=7, settings=settings)
    assert json.loads(loader.settings()) == settings
    assert pieces(loader) == expected[0]


# Some of what learns comes with weights; for the others: test_train_policy.py.
WEIGHTLESS = set(LEARNED) - set(TRAINED)
POLICIES = sorted({*_core.policy_names(), "random", "random_raw", "faulty"} - WEIGHTLESS)


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_do_not_change_it(sources, expected, policy):
    chosen = json.loads(to_json(policy)) if policy in TRAINED else policy
    loader = core(train(sources["files"]), policy=chosen, cpu_budget=3)
    assert [pieces(loader, epoch) for epoch in (0, 1)] == expected


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_knobs_moved_at_random_from_another_thread_do_not_change_it(sources, expected, kind):
    loader = core(train(sources[kind]), cpu_budget=6)
    done = threading.Event()
    moves = []

    def disturb():
        draw = random.Random(3)
        while not done.is_set():
            first, second = draw.randint(1, 13), draw.randint(1, 2)
            weights = {"decode": first, "augment": second, "collate": 16 - first - second}
            knobs = {name: draw.choice(grid) for name, grid in GRIDS.items()}
            loader.apply(json.dumps(moved(loader, weights, **knobs)))
            moves.append(knobs)

    mover = threading.Thread(target=disturb)
    mover.start()
    try:
        for _ in range(6):
            assert pieces(loader) == expected[0]
    finally:
        done.set()
        mover.join(30)
    assert len(moves) > 20


@pytest.mark.parametrize("io", ["pread", "uring"])
def test_both_readers_give_it(tmp_path, io):
    paths = write_files(tmp_path, records(20))
    script = """
import os, sys
import drapps
from drapps import _core
from drapps import _core
from python.tests.hold_streams import core, pieces, train
paths = sys.argv[1:]
for path in paths:  # not in the page cache, so that readers have something to wait for
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
try:
    print(pieces(core(train(drapps.images(paths)))))
except ValueError as error:
    print("unavailable" if "io_uring is not available" in str(error) else error)
"""
    output = run_script(script, *paths, DRAPPS_IO=io).strip()
    if io == "uring" and output == "unavailable":
        pytest.skip("this kernel has no io_uring for us")
    assert output == str(pieces(core(train(drapps.images(paths)))))


def test_duplicates_in_an_epoch_get_different_augmentations(sources):
    record = jpeg("4:2:0", 90, 110)
    loader = core(train(drapps.image_bytes([record] * 12)), batch=3)
    stream = Stream(loader, 0)
    rows = [np.asarray(stream.next().tensors["image"]).copy() for _ in range(4)]
    assert len({row.tobytes() for row in np.concatenate(rows)}) == 12
    order = np.array([4] * 6 + [7] * 6)
    stream = Stream(core(train(sources["memory"]), batch=12), 0, 0, order)
    batch = stream.next()
    assert np.asarray(batch.tensors["index"]).tolist() == order.tolist()
    assert len({row.tobytes() for row in np.asarray(batch.tensors["image"])}) == 12


def test_a_listed_twice_file_is_two_samples(tmp_path):
    [path] = write_files(tmp_path, [jpeg("4:4:4", 80, 80)])
    loader = train(drapps.images([path] * 4)).batch(4)
    [batch] = loader
    assert sorted(np.asarray(batch["index"])) == [0, 1, 2, 3]
    assert len({row.tobytes() for row in np.asarray(batch["image"])}) == 4


def test_two_iterators_of_several_loaders_interleave(sources, expected):
    first, second = core(train(sources["files"])), core(train(sources["memory"]))
    streams = [Stream(loader, epoch) for loader in (first, second) for epoch in (0, 1)]
    digests = [[] for _ in streams]
    for step in range(len(expected[0])):
        for place, stream in enumerate(streams):
            if (step * 7 + place) % 3 or not digests[place]:
                digests[place].append(piece(stream.next()))
    for place, stream in enumerate(streams):
        while stream.left:
            digests[place].append(piece(stream.next()))
    assert digests == expected + expected


def test_a_break_leaves_nothing_behind(sources, expected):
    loader = core(train(sources["files"]), cpu_budget=2)
    for taken in range(1, 12):
        stream = Stream(loader, 0)
        assert [piece(stream.next()) for _ in range(taken)] == expected[0][:taken]
        if taken % 2:
            stream.close()
            with pytest.raises(StopIteration):
                stream.next()
    assert pieces(loader) == expected[0]


def test_pictures_a_hundred_times_larger_than_others_stay_in_their_places():
    photos = [encode(picture("RGB", 30, 40, seed), "PNG") for seed in range(30)]
    large = photo(300, 400)
    photos[4] = photos[17] = encode(picture("RGB", 300, 400), "PNG")
    loader = core(drapps.image_bytes(photos).center_crop(300).to("uint8", "nhwc"), 4, cpu_budget=4)
    stream = Stream(loader, 0)
    batches = [stream.next().tensors for _ in range(8)]
    index = np.concatenate([np.asarray(batch["index"]) for batch in batches])
    images = np.concatenate([np.asarray(batch["image"]) for batch in batches])
    assert index.tolist() == list(range(30))
    for place in (4, 17):
        np.testing.assert_array_equal(images[place], large[:, 50:350])
    assert Counter(len(np.asarray(batch["index"])) for batch in batches) == {4: 7, 2: 1}
