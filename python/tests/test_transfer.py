"""The transfer thread, beside a pretended accelerator: what it pins, when, in which order."""

import signal
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from drapps.torch import destination  # noqa: E402
from python.tests.cells import some_full  # noqa: E402


def _threads():
    return {t for t in threading.enumerate() if t.name.startswith("drapps-transfer")}


class Pins(list):
    """What was pinned: the tensors as lists, by a thread of that name that a test has started."""

    seconds = 0.0
    bad = ()

    def __init__(self):
        self.free = threading.Event()  # to pin anything
        self.free.set()
        self._of_earlier_tests = _threads()

    def __call__(self, batch, device):
        assert device == "cuda"
        if isinstance(batch, list):
            return [self(part, device) for part in batch]
        assert threading.current_thread() in _threads()
        if threading.current_thread() in self._of_earlier_tests:
            return batch
        assert self.free.wait(300)
        time.sleep(self.seconds)
        if batch.tolist() in self.bad:
            raise ValueError(f"{batch.tolist()} cannot be pinned")
        self.append(batch.tolist())
        return batch + 1000


@pytest.fixture
def pins(monkeypatch):
    accelerator = torch.accelerator
    monkeypatch.setattr(accelerator, "is_available", lambda: True)
    monkeypatch.setattr(accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(accelerator, "set_device_index", lambda _: None)
    pins = Pins()
    monkeypatch.setattr(destination, "pin_memory", pins)
    return pins


class Stream(data.IterableDataset):
    """The numbers up to 9, dealt out among the workers."""

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, 9, info.num_workers))


def loader_of(dataset=None, **options):
    dataset = list(range(20)) if dataset is None else dataset
    options = {"batch_size": 2, "num_workers": 2, "pin_memory": True, "lift": False} | options
    return drapps.torch.DataLoader(dataset, **options)


def lifted_of(**options):
    loader = loader_of(data.TensorDataset(torch.arange(20)), lift=True, **options)
    assert loader.lifted()
    return loader


BOTH = pytest.mark.parametrize("made_by", [loader_of, lifted_of])


def values(batches):
    tensors = [batch[0] if isinstance(batch, list) else batch for batch in batches]
    return [[value - 1000 for value in tensor.tolist()] for tensor in tensors]


EXPECTED = [[i, i + 1] for i in range(0, 20, 2)]


@pytest.mark.parametrize("options", [{}, {"torch_order": True}, {"persistent_workers": True}])
@BOTH
def test_every_batch_is_pinned_in_its_turn(pins, made_by, options):
    loader = made_by(**options)
    for _ in range(2):
        assert values(loader) == EXPECTED
    assert pins == EXPECTED * 2


def test_streams_of_different_lengths_end_as_they_do_without(pins):
    loader = loader_of(Stream(), num_workers=3, batch_size=1, prefetch_factor=4)
    assert values(loader) == [[i] for i in range(9)]
    assert values(loader_of(Stream())) == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    assert len(pins) == 9 + 5


@BOTH
def test_batches_are_pinned_while_the_training_step_runs(pins, made_by):
    pins.seconds = 0.01
    iterator = iter(made_by(prefetch_factor=4))
    batches = []
    while len(pins) <= len(batches) and len(batches) < 8:
        batches.append(next(iterator))
        # What has not landed by then is sent to be pinned at a later step.
        end = time.monotonic() + 1
        while len(pins) <= len(batches) and time.monotonic() < end:
            time.sleep(0.01)
    assert len(batches) < len(pins) <= len(batches) + 3
    assert values(batches) + values(iterator) == EXPECTED


@pytest.mark.parametrize("made_by", some_full([loader_of, lifted_of], loader_of))
def test_steps_are_those_of_who_is_given_pinned_batches(pins, made_by):
    pins.seconds = 0.001
    loader = made_by()
    for _ in loader:
        time.sleep(0.1)
    consumer = loader.stats().consumer
    assert (consumer.passes, consumer.step_s.count, consumer.stall_s.count) == (1, 10, 10)
    assert consumer.step_s.buckets[0][0] >= 0.1  # none of them was asked for ahead
    assert consumer.stall_s.p50 < 0.02  # most were pinned by then


@BOTH
def test_what_cannot_be_pinned_is_raised_in_its_turn(pins, made_by):
    pins.bad = ([4, 5],)
    iterator = iter(made_by())
    assert values([next(iterator), next(iterator)]) == EXPECTED[:2]
    with pytest.raises(ValueError, match=r"(?s)pin memory thread for device 0.*4, 5"):
        next(iterator)
    assert values(iterator) == EXPECTED[3:]


class Resumable(data.IterableDataset):
    """The numbers up to 9, and where they stand."""

    next = 0

    def __iter__(self):
        while self.next < 9:
            self.next += 1
            yield self.next - 1

    def state_dict(self):
        return self.next

    def load_state_dict(self, state):
        self.next = state


def test_a_stream_goes_on_behind_what_could_not_be_pinned(pins):
    pins.bad = ([2, 3],)
    loader = loader_of(Resumable(), num_workers=1)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(ValueError, match="cannot be pinned"):
        next(iterator)
    again = loader_of(Resumable(), num_workers=1)
    again.load_state_dict(loader.state_dict())
    assert values(again) == values(iterator) == [[4, 5], [6, 7], [8]]


@BOTH
@pytest.mark.usefixtures("pins")
def test_a_state_counts_what_was_yielded_and_not_what_was_pinned(made_by):
    loader = made_by(shuffle=True, seed=3)
    iterator = iter(loader)
    next(iterator)
    next(iterator)
    state = loader.state_dict()
    expected = values(iterator)
    again = made_by(shuffle=True, seed=3)
    again.load_state_dict(state)
    assert values(again) == expected


@BOTH
def test_an_interrupted_wait_loses_no_batch(pins, made_by):
    class InterruptionError(Exception):
        pass

    def interrupt(*_):
        raise InterruptionError

    iterator = iter(made_by())
    numbers = values([next(iterator)])
    pins.free.clear()  # for nothing that is not pinned yet: who takes all of that waits
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(InterruptionError):
            for batch in iterator:
                numbers += values([batch])
    finally:
        signal.signal(signal.SIGALRM, previous)
        pins.free.set()
    assert numbers + values(iterator) == EXPECTED


@BOTH
def test_a_pass_that_is_left_leaves_nothing_to_the_next(pins, made_by):
    before = _threads()
    loader = made_by(persistent_workers=True, torch_order=True)
    iterator = iter(loader)
    next(iterator)
    assert values(loader) == EXPECTED
    del iterator, loader
    deadline = time.monotonic() + 300
    while _threads() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _threads() - before
    assert len(pins) >= 11


def test_a_bad_picture_is_raised_in_its_turn(pins, own_photos, torchvision):
    transforms = torchvision.transforms
    chain = transforms.Compose([transforms.CenterCrop(8), transforms.ToTensor()])
    dataset = torchvision.datasets.ImageFolder(str(own_photos), chain)
    path = dataset.samples[2][0]
    Path(path).write_bytes(b"")
    iterator = iter(loader_of(dataset, lift=True, batch_size=1))
    before = [label.item() - 1000 for _, label in (next(iterator), next(iterator))]
    with pytest.raises(drapps.SampleError, match=path):
        next(iterator)
    assert before == [0, 0]
    assert next(iterator)[1].item() == 1000
    assert len(pins) >= 2 * 3


def test_an_index_that_is_not_there_fails_its_batch_alone(pins):
    iterator = iter(lifted_of(sampler=[0, 1, 20, 3, 4, 5, 6]))
    assert values([next(iterator)]) == [[0, 1]]
    with pytest.raises(IndexError, match="index 20 of a dataset of 20"):
        next(iterator)
    assert values(iterator) == [[4, 5], [6]]
    assert sorted(pins) == [[0, 1], [4, 5], [6]]
