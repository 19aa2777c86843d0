"""Fixtures that several test modules share: torchvision where it is there, small photo sets."""

import gc
import importlib
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drapps import _core

getattr(_core, "_register_test_policies", lambda: None)()  # which no wheel has
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs with &


def pytest_collection_modifyitems(items) -> None:
    # jax's threads make forks unsafe, so what imports it runs behind all else.
    items.sort(key=lambda item: item.get_closest_marker("jax") is not None)


def pytest_collection_finish() -> None:
    # Collecting garbage in a child of a fork would copy each page of what has been imported here.
    gc.freeze()


@pytest.fixture(scope="session")
def torchvision():
    return pytest.importorskip("torchvision")


@pytest.fixture(scope="session")
def v1(torchvision):
    """torchvision's first transforms."""
    return torchvision.transforms


@pytest.fixture(scope="session")
def v2(torchvision):
    """Its second ones, which are no attribute of it by themselves."""
    return importlib.import_module(f"{torchvision.__name__}.transforms.v2")


@pytest.fixture
def natively():
    """Has a call made as a sample of ours; with what was counted of all of them."""
    from drapps.accelerate.here import Region
    from drapps.accelerate.tally import Tally

    tally = Tally(1)

    def call(act):
        with Region(tally.of_process(0)):
            return act()

    call.counts = tally.sums
    return call


@pytest.fixture
def standing():
    """All that our samples call stands in its place, as while a loader has an iterator."""
    from drapps.accelerate.here import hooks

    hooks.join()
    yield
    hooks.leave()


def picture(seed: int, height: int, width: int) -> Image.Image:
    """Smooth colours with some noise: what photographs are to a codec."""
    draw = np.random.default_rng(seed)
    coarse = draw.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    noise = draw.integers(-9, 10, smooth.shape)
    return Image.fromarray(np.clip(smooth.astype(int) + noise, 0, 255).astype(np.uint8))


def write_folder(root: Path, classes: int, each: int) -> Path:
    """A folder per class, JPEG of several subsamplings and PNG in turn, no two sizes alike."""
    for label in range(classes):
        folder = root / f"class_{label}"
        folder.mkdir(parents=True)
        for number in range(each):
            seed = label * each + number
            image = picture(seed, 90 + 7 * seed % 60, 100 + 11 * seed % 70)
            if number % 4 == 3:
                image.save(folder / f"{number:02}.png")
            else:
                image.save(folder / f"{number:02}.jpg", quality=92, subsampling=number % 4)
    return root


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    """Three classes of seven pictures; do not write to it."""
    return write_folder(tmp_path_factory.mktemp("photos"), classes=3, each=7)


@pytest.fixture
def own_photos(tmp_path) -> Path:
    """The same, for a test that changes it."""
    return write_folder(tmp_path / "photos", classes=3, each=7)
