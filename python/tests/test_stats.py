"""What a loader has counted: `stats()` of native loaders, in this process."""

import copy
import json
import os
import pickle
import signal
import time

import numpy as np
import pytest
from PIL import Image

import drapps
from drapps.report import Distribution, SlowSample, Stats
from python.tests.stats_parts import ROOMY, parts_of, risen_only, run, smallest

STEPS = 6  # of an epoch of the 21 photos


def loader_of(photos, **options):
    return drapps.image_folder(photos).random_resized_crop(32).flip().batch(4, **options)


def test_before_the_first_pass_nothing_is_counted(photos):
    stats = loader_of(photos).stats()
    assert (stats.batches, stats.samples, stats.failed_samples, stats.ready_batches) == (0,) * 4
    consumer = stats.consumer
    assert (consumer.passes, consumer.helped_s, consumer.between_s) == (0, 0.0, 0.0)
    nothing = dict.fromkeys(("count", "sum", "mean", "p50", "p90", "p99", "most"), 0)
    assert consumer.step_s == consumer.stall_s == {**nothing, "buckets": []}
    assert consumer.stall_share == 0.0
    assert all(lane.service_s.count == 0 for lane in stats.lanes.values())
    assert set(stats.upcoming.values()) == {0}
    assert stats.slowest == []
    assert stats.settings["knobs"]["workers"] >= 1
    assert stats.limits["io_depth"] == [1, 256]


def test_two_epochs_are_counted(photos):
    other, loader = loader_of(photos), loader_of(photos)
    run(other)
    before = other.stats().storage  # of all loaders of files in the process
    run(loader, epochs=2)
    stats = loader.stats()
    assert (stats.batches, stats.samples, stats.failed_samples) == (2 * STEPS, 42, 0)
    consumer = stats.consumer
    assert (consumer.passes, consumer.step_s.count, consumer.stall_s.count) == (2, 12, 12)
    for name in ("fetch", "prepare"):
        assert stats.lanes[name].valid
        assert stats.lanes[name].service_s.count == 42
        assert stats.lanes[name].service_cpu_s.count == 42
    storage = stats.storage
    reads = storage.at_once_s.count + storage.waited_s.count
    assert reads - before.at_once_s.count - before.waited_s.count == 42
    assert storage.bytes > before.bytes
    assert (storage.kind, storage.in_flight) == ("files", 0)
    assert storage.path.startswith(str(photos))
    assert os.path.ismount(storage.mount)
    assert storage.filesystem
    assert stats.settings == loader.export_settings()
    assert 0 < stats.memory["used"] <= stats.memory["limit"]
    for knob, (low, high) in stats.limits.items():
        assert low <= stats.settings["knobs"][knob] <= high


def test_a_distribution_adds_up(photos):
    loader = loader_of(photos)
    run(loader)
    service = loader.stats().lanes["prepare"].service_s
    assert isinstance(service, Distribution)
    assert sum(count for _, count in service.buckets) == service.count
    assert service.mean == pytest.approx(service.sum / service.count)
    edges = [edge for edge, _ in service.buckets]
    assert edges == sorted(edges)
    assert edges[0] <= service.p50 <= service.p90 <= service.p99 <= service.most == edges[-1]
    # Whatever is in a bucket is at most 19 % below its edge in the middle, and 2 to the 1/4 apart.
    upper = sum(edge * count for edge, count in service.buckets)
    assert upper / 2 < service.sum <= upper * 1.001


def test_failed_samples_are_counted(own_photos):
    (own_photos / "class_1" / "02.jpg").write_bytes(b"no picture")
    pipeline = drapps.image_folder(own_photos).center_crop(32).on_error("skip")
    loader = pipeline.batch(4)
    run(loader, epochs=2)
    stats = loader.stats()
    assert (stats.failed_samples, stats.samples, stats.batches) == (2, 40, 12)


def test_attributes_and_keys_say_the_same_and_it_is_json(photos):
    loader = loader_of(photos)
    run(loader)
    stats = loader.stats()
    assert isinstance(stats, Stats)
    assert stats.consumer.step_s.p50 == stats["consumer"]["step_s"]["p50"] > 0
    assert stats.lanes["fetch"].wait_s is stats["lanes"]["fetch"]["wait_s"]
    assert isinstance(stats.slowest[0], SlowSample)
    assert stats.slowest[0].name == stats["slowest"][0]["name"]
    plain = stats.to_json()
    assert type(plain) is type(plain["slowest"][0]) is type(plain["lanes"]["fetch"]) is dict
    assert plain == stats == json.loads(json.dumps(stats)) == json.loads(json.dumps(plain))
    for copied in (copy.deepcopy(stats), pickle.loads(pickle.dumps(stats))):
        assert copied == stats
        assert copied.consumer.stall_share == stats.consumer.stall_share
    run(loader)
    assert plain == stats  # it stays what it was


def test_it_prints_as_a_page(photos):
    loader = loader_of(photos)
    named = {line.split()[0] for line in str(loader.stats()).splitlines()}
    assert named == {"delivered", "step", "stall", "workers", "storage"}
    run(loader)
    lines = str(loader.stats()).splitlines()
    assert [line[:12].strip() for line in lines] == [
        *("delivered", "step", "stall", "fetch", "prepare", "workers", "storage"),
        *["slow sample"] * 3,
    ]
    assert lines[0] == "delivered    6 batches, 21 samples"
    assert lines[1].endswith(", 6 times")
    assert lines[6].split()[1:3] == ["files", "at"]


def test_the_slowest_sample_is_named_with_its_stage(own_photos):
    large = own_photos / "class_1" / "large.jpg"
    noise = np.random.default_rng(1).integers(0, 256, (3000, 3000, 3), dtype=np.uint8)
    Image.fromarray(noise).save(large, quality=90)
    loader = drapps.image_folder(own_photos).resize(32).center_crop(32).batch(4)
    batches = list(loader)
    index = 14  # behind the seven of each of its classes
    assert len(batches) == STEPS
    slowest = loader.stats().slowest
    first = slowest[0]
    assert (first.name, first.record, first.epoch, first.rows) == (str(large), index, 0, 1)
    assert (first.position, first.bytes) == (index, large.stat().st_size)
    assert first.slow == "prepare" == max(first.lanes, key=first.lanes.get)
    assert first.seconds == pytest.approx(sum(first.lanes.values()))
    assert [each.seconds for each in slowest] == sorted(
        (each.seconds for each in slowest), reverse=True
    )
    assert str(first).endswith(f"{large}: prepare")


def test_the_accounts_of_threads_sum_to_their_time_and_never_go_back(photos):
    loader = loader_of(photos)
    before: dict[str, float] = {}
    for _ in range(4):
        for _ in loader:
            for _ in range(3):
                stats = loader.stats()
                workers = stats.workers
                assert parts_of(workers) == pytest.approx(workers.wall_s, rel=0.02, abs=1e-4)
                now = risen_only(stats)
                assert {name for name in before if now[name] < before[name]} == set()
                before = now
                time.sleep(0.002)
    assert stats.workers.count >= 1
    assert stats.workers.cpu_s > 0
    assert sum(share for _, share in stats.workers.shares()) == pytest.approx(1, rel=0.02)


def test_time_between_passes_is_part_of_no_step(photos):
    loader = loader_of(photos)
    begun = time.monotonic()
    run(loader)
    time.sleep(0.3)
    iterator = iter(loader)
    next(iterator)
    next(iterator)
    iterator.close()  # a pass that is left ends too
    time.sleep(0.2)
    run(loader)
    consumer = loader.stats().consumer
    took = time.monotonic() - begun
    assert consumer.passes == 3
    assert consumer.step_s.count == STEPS + 1 + STEPS
    assert consumer.between_s >= 0.5
    assert consumer.step_s.sum + consumer.between_s <= took


def test_a_burst_on_a_slow_storage_is_stall(photos):
    slow = drapps.emulate(latency=0.05)
    loader = drapps.image_folder(photos).on(slow).center_crop(32).batch(4, cache="off")
    loader.freeze()
    batches = list(loader)
    assert len(batches) == STEPS
    stats = loader.stats()
    consumer = stats.consumer
    assert (consumer.step_s.count, consumer.stall_s.count) == (STEPS, STEPS)
    assert 0.5 < consumer.stall_share <= 1.0
    storage = stats.storage
    assert (storage.kind, storage.waited_s.count) == ("emulated", 21)
    assert smallest(storage.waited_s) >= 0.04
    assert stats.lanes["fetch"].queue_length.count == 21
    assert stats.workers.storage_s > 0


def test_refusals_of_a_storage_are_counted(photos):
    full = drapps.emulate(requests_per_second=50, burst=0.1)
    loader = drapps.image_folder(photos).on(full).center_crop(32).batch(4, cache="off")
    run(loader)
    stats = loader.stats()
    assert stats.samples == 21
    assert stats.storage.refusals >= 1
    assert stats.storage.retries >= 1
    assert stats.storage.failures == 0
    assert f"refusals     {stats.storage.refusals}, " in str(stats)


def test_who_takes_batches_ahead_marks_the_steps_outside(photos):
    slow = drapps.emulate(latency=0.05)
    iterator = iter(
        loader := drapps.image_folder(photos).on(slow).center_crop(32).batch(4, cache="off")
    )
    marks = iterator.consumed_outside()
    taken = [next(iterator)]
    for _ in range(STEPS):
        marks.asks()
        taken.pop()
        marks.gives()
        time.sleep(0.02)  # the training step, beside which the next batch is waited for
        if len(iterator):
            taken.append(next(iterator))
    marks.asks()
    assert next(iterator, None) is None
    marks.gives()
    consumer = loader.stats().consumer
    assert (consumer.passes, consumer.step_s.count, consumer.stall_s.count) == (1, STEPS, STEPS)
    assert smallest(consumer.step_s) >= 0.02
    assert consumer.stall_share < 0.2


def test_what_comes_next_is_known(photos):
    loader = loader_of(photos)
    run(loader)
    iterator = iter(loader)
    next(iterator)
    upcoming = loader.stats().upcoming
    assert 1 <= upcoming["samples"] <= 17
    assert upcoming["samples"] >= upcoming["seen"] >= upcoming["indexed"]
    assert upcoming["samples"] >= upcoming["sized"]
    for _ in iterator:
        pass
    assert loader.stats().upcoming["samples"] == 0


def test_a_child_of_a_fork_counts_for_itself(photos):
    loader = loader_of(photos)
    run(loader)
    iterator = iter(loader)
    next(iterator)
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            signal.alarm(ROOMY)
            good = 1
            try:
                fresh = loader.stats().batches == 0
                run(loader)
                good = 0 if fresh and loader.stats().batches == STEPS else 1
            finally:
                os._exit(good)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert loader.stats().batches == STEPS + 1
