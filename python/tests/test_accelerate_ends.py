"""Pictures that are not made yet where processes fork or end, signals come, and files are left."""

from __future__ import annotations

import gc
import io
import os
import signal
import threading
import warnings

import numpy as np
import pytest
from PIL import Image
from torch.utils import data

import drapps.torch
from drapps.accelerate.here import Region
from drapps.accelerate.late import LatePixels
from drapps.accelerate.tally import Tally
from python.tests.picture_files import large_file

FORKS = 8
PATIENCE = 60  # seconds, of a child that takes milliseconds
BOX = (20, 30, 260, 250)


def late():
    """A crop that is not made yet."""
    image = Image.open(io.BytesIO(large_file())).crop(BOX).resize((90, 80), 2)
    assert type(image._im) is LatePixels
    return image


@pytest.fixture(scope="module")
def wanted():
    return Image.open(io.BytesIO(large_file())).crop(BOX).resize((90, 80), 2).tobytes()


def ended_well(child):
    """Whether a child has ended by itself, and with status 0."""
    for _ in range(PATIENCE * 100):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        threading.Event().wait(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_a_child_that_is_forked_in_the_middle_of_decoding_decodes(wanted):
    """What other threads are at then, and what they hold, it does not have."""
    stop, failures = threading.Event(), []

    def decode():
        with Region(Tally(1).of_process(0)):
            while not stop.is_set():
                if late().tobytes() != wanted:
                    failures.append("other pixels")

    threads = [threading.Thread(target=decode) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        with Region(Tally(1).of_process(0)):
            for _ in range(FORKS):
                image = late()  # which the child makes
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of forks beside threads
                    child = os.fork()
                if child == 0:
                    good = image.tobytes() == wanted and late().tobytes() == wanted
                    os._exit(0 if good else 1)
                assert ended_well(child)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures


def test_a_signal_in_the_middle_of_decoding_shows_in_no_pixel(wanted):
    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    came = 0
    try:
        with Region(Tally(1).of_process(0)):
            for number in range(60):
                image, pixels = None, b""
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-4 + number * 4e-5)
                    image = late()
                    pixels = image.tobytes()
                except AlarmError:
                    came += 1
                    pixels = wanted if image is None else image.tobytes()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                assert pixels == wanted
    except AlarmError:  # behind all that was looked at
        came += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert came


def test_what_a_signal_raises_while_arguments_are_looked_at_comes_through():
    class AlarmError(Exception):
        pass

    class Number:
        def __round__(self, *_):
            signal.raise_signal(signal.SIGALRM)
            return 20

        __index__ = __round__

    def ring(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with Region(Tally(1).of_process(0)):
            image = late()
            with pytest.raises(AlarmError):
                image.crop((Number(), 3, 40, 50))
            with pytest.raises(AlarmError):
                image.resize((Number(), 30), 2)
            assert type(image._im) is LatePixels
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def young():
    """Garbage is looked for among younger objects alone, of which there are few."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("young")
def test_of_files_that_are_left_open_the_same_is_warned(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(large_file())

    def left(act):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            act(Image.open(path))
            gc.collect()
        return [(each.category, str(each.message)) for each in warned]

    acts = [
        lambda _: None,
        lambda image: image.load(),
        lambda image: image.convert("RGB").size,
        lambda image: image.crop((1, 2, 30, 40)).tobytes(),
        lambda image: image.close(),
    ]
    plain = [left(act) for act in acts]
    with Region(Tally(1).of_process(0)):
        assert [left(act) for act in acts] == plain
    assert plain[0][0][0] is ResourceWarning


class Kept(data.Dataset):
    """Keeps pictures that are not made when its process ends."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        self.kept = [late() for _ in range(4)]
        self.cycle = [self.kept[0]]
        self.cycle.append(self.cycle)
        globals()["kept_by_the_module"] = self.cycle
        return np.asarray(self.kept[1])


def test_a_worker_ends_with_pictures_that_are_not_made(capfd, wanted):
    loader = drapps.torch.DataLoader(Kept(), 1, num_workers=1, multiprocessing_context="fork")
    pictures = [np.asarray(each).tobytes() for each in loader]
    assert pictures == [wanted] * 3
    del loader
    gc.collect()
    assert capfd.readouterr().err == ""
