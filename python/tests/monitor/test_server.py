"""A process offers what its loaders count at a socket of the user's own."""

import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from drapps import MonitorError, monitor
from python.tests.monitor.trainings import TRAINING, batches, is_listening, until

FORKS = """
import os, sys, time
import numpy as np
import drapps

loader = drapps.arrays({"x": np.zeros((64, 8), np.float32)}).batch(8)
print("begins", flush=True)
list(loader)
while not os.path.exists(f"{sys.argv[1]}/{os.getpid()}.sock"):
    time.sleep(0.01)
if (child := os.fork()) == 0:
    if sys.argv[2] == "loads":
        list(loader)
        while not os.path.exists(f"{sys.argv[1]}/{os.getpid()}.sock"):
            time.sleep(0.01)
    print("child", len(os.listdir(sys.argv[1])), flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", os.listdir(sys.argv[1]) == [f"{os.getpid()}.sock"], flush=True)
sys.stdin.read()
list(loader)
"""

WORKERS = """
import sys
import drapps, drapps.torch
import numpy as np

class Nested:
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return sum(batch.rows for batch in drapps.arrays({"x": np.zeros((9, 1))}).batch(4))

loader = drapps.torch.DataLoader(Nested(), 4, num_workers=2, persistent_workers=True)
print("begins", flush=True)
assert sum(int(batch.sum()) for batch in loader) == 64 * 9
print("worked", flush=True)
sys.stdin.read()
"""


def test_a_snapshot_has_what_the_loader_counts(trainings):
    process = trainings.watched()
    first = until(lambda: monitor.snapshot(process.pid).loaders)[0]
    assert (first.number, first.kind, first.dataset) == (1, "drapps.Loader", "ArraySource")
    until(lambda: batches(process) > first.stats.batches)
    seen = monitor.snapshot(process.pid)
    assert seen.process.pid == process.pid
    assert seen.process.memory.limit > seen.process.memory.used > 0
    assert seen.loaders[0].time_s > first.time_s
    assert seen.loaders[0].explanation.plan.path == "native"
    assert seen.loaders[0].explanation.decisions.policy == "initial"
    assert seen.loaders[0].stats.settings["knobs"]["workers"] >= 1
    at_last = int(trainings.end(process))
    assert at_last >= seen.loaders[0].stats.batches > 0


def test_the_socket_is_the_users_alone_and_goes_with_the_process(trainings):
    process = trainings.watched()
    path = trainings.path(process)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.pid for each in monitor.processes()] == [process.pid]
    trainings.end(process)
    assert list(trainings.folder.iterdir()) == []
    with pytest.raises(MonitorError, match=f"process {process.pid} offers no statistics"):
        monitor.snapshot(process.pid)


def test_a_process_with_the_socket_off_offers_none(trainings):
    process = trainings.start(DRAPPS_SOCKET="off")
    other = trainings.watched()
    assert [each.pid for each in monitor.processes()] == [other.pid]
    assert int(trainings.end(process)) > 0


@pytest.mark.parametrize(("does", "sockets"), [("nothing", 1), ("loads", 2)])
def test_a_child_of_a_fork_leaves_the_parents_socket_alone(trainings, does, sockets):
    process = trainings.start(FORKS, str(trainings.folder), does)
    assert process.stdout.readline() == f"child {sockets}\n"
    assert process.stdout.readline() == "parent True\n"
    assert monitor.snapshot(process.pid).loaders[0].stats.batches == 8
    trainings.end(process)
    assert list(trainings.folder.iterdir()) == []


def test_worker_processes_offer_none(trainings):
    pytest.importorskip("torch")
    process = trainings.start(WORKERS)
    assert process.stdout.readline() == "worked\n"
    until(lambda: is_listening(trainings.path(process)))
    seen = monitor.snapshot(process.pid)
    assert [each.pid for each in monitor.processes()] == [process.pid]
    assert seen.loaders[0].kind == "drapps.torch.DataLoader"
    assert seen.loaders[0].explanation.plan.path == "python"
    assert seen.loaders[0].explanation.plan.processes >= 1
    assert seen.loaders[0].stats.batches == 16
    trainings.end(process)


def test_what_a_killed_process_has_left_is_removed(trainings):
    process = trainings.watched()
    process.kill()
    process.wait()
    assert trainings.path(process).exists()
    assert monitor.processes() == []
    assert not trainings.path(process).exists()


def test_what_is_not_ours_is_never_removed(trainings):
    trainings.folder.mkdir(mode=0o700)
    ended = subprocess.Popen(["true"])
    ended.wait()
    file = trainings.folder / f"{ended.pid}.sock"
    file.write_text("no socket")
    of_a_living_process = trainings.folder / f"{os.getppid()}.sock"
    of_another_name = trainings.folder / "other.sock"
    listening = trainings.folder / "999999999.sock"
    held = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for each, path in zip(held, (of_a_living_process, of_another_name, listening), strict=True):
        each.bind(str(path))
    held[2].listen(1)
    before = sorted(trainings.folder.iterdir())
    process = trainings.watched()
    assert [each.pid for each in monitor.processes(0.2)] == [process.pid]
    trainings.end(process)
    assert sorted(trainings.folder.iterdir()) == before


def test_a_folder_that_is_open_to_others_is_not_used(trainings):
    trainings.folder.mkdir(mode=0o700)
    trainings.folder.chmod(0o777)
    process = trainings.start()
    time.sleep(0.5)  # in which it would have made one
    assert int(trainings.end(process)) > 0
    assert list(trainings.folder.iterdir()) == []
    assert monitor.processes() == []


def test_without_a_runtime_folder_it_lies_in_the_temporary_one(trainings, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    process = trainings.start(XDG_RUNTIME_DIR="")
    path = trainings.folder.parent / f"drapps-{os.geteuid()}" / f"{process.pid}.sock"
    until(lambda: is_listening(path))
    assert process.pid in [each.pid for each in monitor.processes()]
    trainings.end(process)
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_would_without(trainings, number):
    process = trainings.watched()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number


def test_an_end_within_the_delay_leaves_nothing(trainings):
    script = TRAINING.replace("0.001", "0")
    for _ in range(5):
        trainings.end(trainings.start(script))
    assert not trainings.folder.exists() or list(trainings.folder.iterdir()) == []
