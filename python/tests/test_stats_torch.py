"""What the torch loader has counted, lifted or not."""

import copy
import os
import pickle
import signal
import time

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.stats_parts import ROOMY, parts_of, risen_only, run, smallest  # noqa: E402


class Sleepy(data.Dataset):
    """Numbers, which take a while; one of them takes long."""

    def __init__(self, seconds=0.005, long=None):
        self.seconds, self.long = seconds, long

    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.5 if index == self.long else self.seconds)
        return index


class Threaded(Sleepy):
    thread_safe = True


def arrays(**options):
    loader = drapps.torch.DataLoader(data.TensorDataset(torch.arange(4000)), 100, **options)
    assert loader.lifted()
    return loader


def test_gathering_helps_and_is_no_stall():
    loader = arrays()
    run(loader, epochs=2, step=0.002)
    stats = loader.stats()
    consumer = stats.consumer
    assert (stats.batches, stats.samples, consumer.step_s.count) == (80, 8000, 80)
    assert 0 < consumer.helped_s < consumer.step_s.sum
    assert smallest(consumer.step_s) >= 0.002
    assert consumer.stall_share < 0.2
    assert stats.storage.kind == "memory"
    assert stats.slowest[0].rows == 100
    assert stats.slowest[0].bytes == 0


@pytest.mark.parametrize("dataset", [Sleepy, Threaded])
def test_a_python_dataset_in_workers(dataset):
    loader = drapps.torch.DataLoader(dataset(), 4, num_workers=2)
    run(loader, epochs=2)
    stats = loader.stats()
    assert (stats.batches, stats.samples, stats.failed_samples) == (20, 80, 0)
    consumer = stats.consumer
    assert (consumer.passes, consumer.step_s.count, consumer.stall_s.count) == (2, 20, 20)
    assert consumer.helped_s > 0
    assert list(stats.lanes) == ["python"]
    lane = stats.lanes["python"]
    assert lane.wait_s.count == 20  # batches
    assert lane.service_s.count == 80  # samples, each a piece of one
    assert smallest(lane.service_s) >= 0.004
    assert lane.service_s.sum >= 80 * 0.005
    assert lane.queue_length.count >= 20
    workers = stats.workers
    assert workers.lanes["python"]["core_wait_s"] > 0.8 * 80 * 0.005  # it sleeps in there
    assert parts_of(workers) == pytest.approx(workers.wall_s, rel=0.02)
    assert "python, waiting" in str(stats)
    assert stats.storage.kind is None
    assert stats.storage.bytes == 0


def test_waiting_for_slow_samples_is_stall():
    loader = drapps.torch.DataLoader(Sleepy(0.02), 4, num_workers=1)
    run(loader)
    assert loader.stats().consumer.stall_share > 0.5


def test_the_accounts_of_processes_sum_to_their_time_and_never_go_back():
    loader = drapps.torch.DataLoader(Sleepy(), 4, num_workers=2)
    before: dict[str, float] = {}
    for _ in range(2):
        for _ in loader:
            for _ in range(3):
                stats = loader.stats()
                workers = stats.workers
                assert parts_of(workers) == pytest.approx(workers.wall_s, rel=0.02, abs=1e-4)
                now = risen_only(stats)
                assert {name for name in before if now[name] < before[name]} == set()
                before = now
                time.sleep(0.002)
    assert loader.stats().workers.wall_s >= before["wall"] > 0


def test_the_slowest_samples_of_workers_are_told_by_position():
    order = [*range(30, 40), *range(30)]
    options = {"sampler": order, "num_workers": 2, "persistent_workers": True}
    loader = drapps.torch.DataLoader(Sleepy(0.001, long=3), 4, **options)
    run(loader)
    slowest = loader.stats().slowest[0]
    assert (slowest.position, slowest.record, slowest.epoch) == (13, None, None)
    assert slowest.seconds >= 0.5
    assert slowest.slow == "python"
    assert str(slowest).endswith(" position 13 of an epoch: python")


def test_of_a_dataset_in_the_training_process_nothing_is_counted():
    loader = drapps.torch.DataLoader(Sleepy(0.0), 4)
    run(loader)
    stats = loader.stats()
    assert (stats.batches, stats.consumer.step_s.count, stats.workers.wall_s) == (0, 0, 0.0)
    assert stats.slowest == []
    assert stats.memory["limit"] > 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("lift", [True, False])
def test_a_copy_of_a_loader_counts_for_itself(copied, lift):
    loader = arrays() if lift else drapps.torch.DataLoader(Sleepy(0.0), 100, num_workers=1)
    run(loader)
    counted = loader.stats().batches
    assert counted > 0
    other = copied(loader)
    assert other.stats().batches == 0
    run(other)
    assert other.stats().batches == loader.stats().batches == counted


@pytest.mark.parametrize("dataset", [Sleepy, Threaded])
def test_a_child_of_a_fork_may_ask(dataset):
    loader = drapps.torch.DataLoader(dataset(), 4, num_workers=2, persistent_workers=True)
    run(loader)
    iterator = iter(loader)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        signal.alarm(ROOMY)
        good = 1
        try:
            stats = loader.stats()
            path = loader.explain().plan.path
            good = 0 if (stats.batches, stats.slowest, path) == (0, [], "python") else 1
        finally:
            os._exit(good)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(list(iterator)) == 9
