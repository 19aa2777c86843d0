"""``drapps.watch(loader)``: it behaves as the loader, and measures.

What hooks torch runs in processes of its own, so that other tests meet no hooks.
"""

import subprocess
import sys
import time

import pytest

import drapps
from drapps.watching.device import EmulatedDevice, Idleness
from drapps.watching.making import name_of
from python.tests.watch_scripts import environment


def run(code, folder):
    """Runs Python code to its end."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done


GENERATOR = """
import time
import drapps

def numbers(count, pause=0.0):
    for number in range(count):
        time.sleep(pause)
        yield number

watched = drapps.watch(list(range(50)))
assert list(watched) == list(range(50)) and len(watched) == 50 and watched[3] == 3
assert isinstance(watched, list)
assert list(drapps.watch(numbers(5))) == [0, 1, 2, 3, 4]

def fails():
    yield 1
    raise KeyError("mine")

try:
    list(drapps.watch(fails()))
except KeyError as error:
    assert error.args == ("mine",)
else:
    raise AssertionError

loader = drapps.watch(numbers(60, 0.03))
for _ in loader:
    time.sleep(0.01)
report = loader.watch_report()
mine = report.ranks[0]
assert mine.loader["class"] == "generator" and mine.steps == 59
assert abs(mine.stall - 0.75) < 0.075, mine
assert 3 < report.ceiling < 5 and report.data_bound
assert report.sentence in str(report) and report.to_json()["stall"] == report.stall
"""


def test_any_iterable_passes_unchanged_and_its_waits_are_told(tmp_path):
    run(GENERATOR, tmp_path)


TORCH = """
import torch
from torch.utils.data import DataLoader, TensorDataset
import drapps

loader = DataLoader(TensorDataset(torch.arange(10)), batch_size=5)
early = iter(loader)
next(early)
before = [batch[0].tolist() for batch in loader]
watched = drapps.watch(loader)
assert isinstance(watched, DataLoader) and watched.batch_size == 5
assert watched.dataset is loader.dataset
watched.own = 3
assert loader.own == 3
assert type(iter(watched)) is type(iter(loader))
assert len(list(early)) == 1  # one that was there before
for _ in range(3):
    list(watched)
assert watched.watch_report().ranks[0].steps == 3
assert [batch[0].tolist() for batch in watched] == before

class Breaks:
    def recorder(self):
        raise RuntimeError

from drapps.watching import iteration, torch_hooks
torch_hooks.HERE = iteration.HERE = Breaks()  # a watcher that has died
assert [batch[0].tolist() for batch in DataLoader(loader.dataset, batch_size=5)] == before
assert [batch[0].tolist() for batch in watched] == before
"""


def test_a_loader_keeps_its_type_and_a_watcher_that_dies_stops_no_batch(tmp_path):
    pytest.importorskip("torch")
    run(TORCH, tmp_path)


def test_samples_have_the_names_of_their_files():
    class Folder:
        def __init__(self):
            self.samples = [("a.jpg", 0), ("b.jpg", 1)]

    class Subset:
        def __init__(self, dataset, indices):
            self.dataset, self.indices = dataset, indices

    assert name_of(Folder(), 1) == "b.jpg"
    assert name_of(Subset(Folder(), [1, 0]), 0) == "b.jpg"
    assert name_of(Folder(), 2) == "sample 2" and name_of([5], "key") == "sample key"


def test_what_cannot_be_iterated_is_refused():
    with pytest.raises(drapps.PipelineError, match="a int cannot be iterated"):
        drapps.watch(3)


def test_a_wait_that_the_device_hides_is_none():
    device = EmulatedDevice()
    idleness = Idleness()
    idleness.use(device)

    def exposed(work, wait):
        device.launch(work)
        asked, begun = idleness.begin(), time.perf_counter()
        time.sleep(wait)
        return idleness.end(asked, begun, time.perf_counter())

    assert exposed(0.3, 0.1) == 0
    device.synchronize()
    assert exposed(0.1, 0.4) == pytest.approx(0.3, abs=0.05)
    assert exposed(0, 0.1) == pytest.approx(0.1, abs=0.05)


def test_a_helper_that_has_died_delays_nothing():
    device, idleness = EmulatedDevice(), Idleness()
    idleness.use(device)
    idleness._thread = object()  # polls nothing
    device.launch(0.05)
    asked, begun = idleness.begin(), time.perf_counter()
    time.sleep(0.2)
    assert idleness.end(asked, begun, begun + 0.2) == pytest.approx(0.2)
