"""The emulated storage, as users meet it."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import drapps
from drapps.source import file_source, memory_source
from python.tests.test_workers import DEADLINE


def stream(pipeline):
    loader = pipeline.random_resized_crop(24).flip().shuffle(3).batch(4, cache="off")
    batches = list(loader.numpy())
    return np.concatenate([batch["image"] for batch in batches]), loader


def test_the_stream_is_that_of_the_files_and_the_storage_counts_them(photos):
    plain, _ = stream(drapps.image_folder(photos))
    slow = drapps.emulate(
        latency=0.003, bandwidth=20e6, schedule={0.02: {"refuses": True}, 0.08: {"refuses": False}}
    )
    images, loader = stream(drapps.image_folder(photos).on(slow))
    assert np.array_equal(images, plain)
    stats = slow.stats()
    assert stats["reads"] == loader.dataset_size
    assert (stats["failures"], stats["in_flight"]) == (0, 0)
    assert stats["bytes"] > 0
    assert stats["latency_p50_s"] >= 0.003


@pytest.mark.parametrize("outage", ["refuses", "stalls"])
def test_an_outage_is_an_error_of_the_sample_behind_the_deadline(photos, outage):
    gone = drapps.emulate(schedule={3600: {outage: False}}, deadline=0.1, **{outage: True})
    loader = drapps.image_folder(photos).on(gone).center_crop(8).batch(4, cache="off")
    with pytest.raises(
        drapps.SampleError, match=r"see why the storage \(emulated\) does not"
    ) as caught:
        next(iter(loader))
    assert (caught.value.stage, caught.value.code) == ("fetch", "unavailable")
    assert caught.value.path


def test_a_source_says_what_its_storage_is(photos):
    path = str(next(photos.glob("*/*")))
    source = file_source([path])
    identity = source.native().storage_identity()
    assert (identity["kind"], identity["path"]) == ("files", path)
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    assert identity["mount"] in [mount[4] for mount in mounts]
    assert identity["filesystem"]
    slow = drapps.emulate(latency=0.001)
    assert source.on(slow).located().storage_identity() == identity | {"kind": "emulated"}
    assert slow.stats()["kind"] == "emulated"
    memory = memory_source([b"x"]).native().storage_identity()
    assert memory == {"kind": "memory", "path": "", "mount": "", "filesystem": "", "device": ""}


def test_files_are_opened_at_the_pace_of_the_storage(photos):
    path = next(photos.glob("*/*"))
    slow = drapps.emulate(latency=0.05)
    begun = time.monotonic()
    assert slow.open(path).read() == path.read_bytes()
    assert time.monotonic() - begun >= 0.05
    with pytest.raises(FileNotFoundError):
        slow.open(photos / "gone")
    with pytest.raises(ValueError, match="rb"):
        slow.open(path, "w")
    with pytest.raises(TimeoutError, match="tried"):
        drapps.emulate(refuses=True, deadline=0.05).open(path)


def test_a_stall_is_an_error_behind_the_deadline_and_gives_way_to_signals(photos):
    path = next(photos.glob("*/*"))
    with pytest.raises(TimeoutError, match="does not answer"):
        drapps.emulate(stalls=True, schedule={3600: {"stalls": False}}, deadline=0.05).open(path)
    slow = drapps.emulate(stalls=True, schedule={3600: {"stalls": False}}, deadline=7200)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slow.open(path)
    timer.join()
    assert slow.stats()["in_flight"] == 0


def read_many(storage, path, count):
    for _ in range(count):
        storage.open(path).read()


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_processes_share_one_bandwidth(tmp_path, method):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100_000)
    slow = drapps.emulate(bandwidth=4e6, burst=0.05)
    context = multiprocessing.get_context(method)
    children = [context.Process(target=read_many, args=(slow, path, 5)) for _ in range(4)]
    begun = time.monotonic()
    for child in children:
        child.start()
    for child in children:
        child.join(DEADLINE)
        assert child.exitcode == 0
    assert time.monotonic() - begun >= (4 * 5 * 100_000) / 4e6 - 0.05


def test_a_storage_joins_the_one_that_it_was_pickled_from(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    slow = drapps.emulate(requests_per_second=5, burst=0.0, deadline=0.01)
    other = pickle.loads(pickle.dumps(slow))
    slow.open(path)
    with pytest.raises(TimeoutError):
        other.open(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speed": 3}, "a storage has no 'speed'; it has bandwidth"),
        ({"bandwidth": -1}, "bandwidth, in entry 0"),
        ({"schedule": {1: {"latency": float("nan")}}}, "latency, in entry 1"),
        ({"schedule": {1: {"stalls": True}}}, "stall"),
        ({"schedule": {5: {}}, "period": 3}, "period"),
        ({"latency": "long"}, "incompatible|latency"),
        ({"deadline": float("nan")}, "deadline=nan"),
        ({"deadline": float("inf")}, "deadline=inf"),
        ({"deadline": -1}, "deadline=-1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, words):
    with pytest.raises(drapps.PipelineError, match=words):
        drapps.emulate(**options)


OUTAGES = {
    "refuses": {0.05: {"refuses": True}},
    "stalls": {0.05: {"stalls": True}, 7200: {"stalls": False}},
}


@pytest.mark.parametrize("on_error", ["raise", "replace"])
@pytest.mark.parametrize("outage", OUTAGES)
def test_a_loader_is_closed_in_the_middle_of_an_outage(photos, outage, on_error):
    gone = drapps.emulate(schedule=OUTAGES[outage], deadline=3600)
    pipeline = drapps.image_folder(photos).on(gone).center_crop(8).on_error(on_error)
    for wait in (0.01, 0.1, 0.3):
        passing = iter(pipeline.batch(4, cache="off"))
        time.sleep(wait)
        passing.close()
    assert gone.stats()["in_flight"] == 0
