"""Samples that a device decodes, on the device for tests: the stream is the CPU's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drapps
from drapps import _core, trace
from drapps.errors import PipelineError
from python.tests.decode_files import jpeg

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("4:2:0", {}),
    ("4:4:4", {}),
    ("4:2:0", {"progressive": True}),
    ("gray", {}),
    ("4:2:2", {"optimize": True}),
]


@pytest.fixture(autouse=True)
def host_device() -> None:
    _core._allow_host_device(1 << 30, 100_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("placed")
    for number in range(60):
        sampling, options = KINDS[number % len(KINDS)]
        where = root / f"class{number % 2}"
        where.mkdir(exist_ok=True)
        data = jpeg(sampling, 60 + number % 9, 80 + number % 13, **options)
        if number == 31:
            data = data[: len(data) // 2]
        (where / f"{number:03}.jpg").write_bytes(data)
    return root


def loader(files: Path, **options: Any) -> drapps.Loader:
    pipeline = (
        drapps.image_folder(files)
        .decode()
        .random_resized_crop(24)
        .flip()
        .normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
        .shuffle(seed=4)
        .on_error("replace")
    )
    return pipeline.batch(8, **{"device": "host", **options})


def epochs(feed: drapps.Loader, count: int = 3) -> list[bytes]:
    """Of each: all bytes of its batches."""
    return [b"".join(np.asarray(batch["image"]).tobytes() for batch in feed) for _ in range(count)]


def placed(feed: drapps.Loader) -> dict[str, Any]:
    placement: dict[str, Any] = json.loads(feed._native.explain())["plan"]["placement"]
    return placement


def test_every_placement_gives_the_cpu_stream(files: Path) -> None:
    plain = loader(files)
    expected = epochs(plain)
    assert placed(plain) == {"placement": "cpu"}
    for options in (
        {"placement": "gpu"},
        {"placement": "auto"},
        {"placement": "gpu", "policy": {"name": "fixed_split", "parameters": {"gpu": 5}}},
    ):
        feed = loader(files, **options)
        assert epochs(feed) == expected
        assert placed(feed)["decoded"] > 0


@pytest.mark.parametrize("form", ["raw", "raw+lz4", "prepared", "coefficients"])
def test_kept_pictures_are_augmented_there(files: Path, form: str) -> None:
    expected = epochs(loader(files))
    feed = loader(files, placement="gpu", cache=64 << 20, form=form)
    assert epochs(feed) == expected
    assert (placed(feed)["from_cache"] > 60) == form.startswith("raw")
    assert placed(feed)["augmented"] >= placed(feed)["from_cache"]
    settings = feed.export_settings()
    settings["knobs"]["augment_on_gpu"] = 0
    alone = loader(files, placement="gpu", cache=64 << 20, form=form, settings=settings)
    assert epochs(alone) == expected
    assert placed(alone)["from_cache"] == placed(alone)["augmented"] == 0


def test_a_state_goes_on_at_another_place(files: Path) -> None:
    one, other = loader(files, placement="gpu"), loader(files)
    expected = epochs(loader(files), 2)
    first = epochs(one, 1)
    iterator = iter(one)
    head = b"".join(np.asarray(next(iterator)["image"]).tobytes() for _ in range(3))
    state = one.state_dict()
    other.load_state_dict(state)
    assert [*first, head + epochs(other, 1)[0]] == expected


def test_knobs_and_settings(files: Path) -> None:
    feed = loader(files, placement="gpu")
    epochs(feed, 1)
    settings = feed.export_settings()
    assert settings["knobs"]["decode_on_gpu"] == 16
    assert feed.stats().to_json()["limits"]["augment_on_gpu"] == [0, 16]
    settings["knobs"]["decode_on_gpu"] = 3
    again = loader(files, placement="gpu", settings=settings)
    epochs(again, 1)
    assert again.export_settings()["knobs"]["decode_on_gpu"] == 3
    assert "decode_on_gpu" not in loader(files, settings=settings).export_settings()["knobs"]


def test_a_lost_device_is_told_once(files: Path) -> None:
    expected = epochs(loader(files))
    _core._allow_host_device(1 << 30, 100_000, launches=7)
    feed = loader(files, placement="gpu")
    with pytest.warns(RuntimeWarning, match="the host device was lost") as messages:
        assert epochs(feed) == expected
    assert len(messages) == 1


def test_less_memory_is_fewer_at_once_and_none_the_cpu(files: Path) -> None:
    expected = epochs(loader(files))
    _core._allow_host_device(110 << 20, 100_000)
    small = loader(files, placement="gpu")
    assert epochs(small) == expected
    assert placed(small)["at_once"] == 48
    assert placed(small)["decoded"] > 0
    del small
    _core._allow_host_device(9 << 20, 100_000)
    none = loader(files, placement="gpu")
    with pytest.warns(RuntimeWarning, match="the CPU decodes all, and host nothing") as messages:
        assert epochs(none) == expected
    assert len(messages) == 1


def test_the_device_is_metered(files: Path) -> None:
    feed = loader(files, placement="gpu")
    epochs(feed)
    counted = feed.stats().device
    assert counted.launches > 0
    assert min(counted.bytes_in, counted.bytes_out) > 0
    assert min(counted.copy_s, counted.kernel_s) > 0
    assert loader(files).stats().device.launches == 0


def decide(feed: drapps.Loader, enough: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Epochs until the knobs stand where they are to be, and where they stand then."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        epochs(feed, 1)
        knobs: dict[str, int] = feed.export_settings()["knobs"]
        if enough(knobs):
            break
    return knobs


def test_thresholds_move_samples_to_the_device_and_back(files: Path) -> None:
    here = {"name": "rule", "parameters": {"gpu_high": 0, "cpu_low": 1, "cpu_high": 1}}
    there = {"name": "rule", "parameters": {"cpu_high": 0, "gpu_low": 1}}
    feed = loader(files, placement="gpu", policy=here)
    expected = epochs(loader(files), 1)[0]
    fewer = decide(feed, lambda knobs: max(knobs["decode_on_gpu"], knobs["augment_on_gpu"]) < 15)
    assert max(fewer["decode_on_gpu"], fewer["augment_on_gpu"]) < 15
    feed.policy = there
    more = decide(feed, lambda knobs: knobs["decode_on_gpu"] > fewer["decode_on_gpu"])
    assert more["decode_on_gpu"] > fewer["decode_on_gpu"]
    assert more["augment_on_gpu"] > fewer["augment_on_gpu"]
    assert "on accelerators" in str(feed.explain().decisions)
    feed.set_epoch(0)
    assert epochs(feed, 1)[0] == expected


def test_a_trace_has_what_the_device_did_and_replays(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "placed.trace"
    feed = loader(files, placement="gpu", policy="rule")
    with feed.record(path):
        end = time.monotonic() + 120
        while feed.explain().decisions.totals["decisions"] < 5 and time.monotonic() < end:
            epochs(feed, 1)
    seen = [each for each in trace.open(path) if isinstance(each, trace.Decision)]
    last = seen[-1].observation
    for name in ("launches", "bytes_in", "bytes_out", "copy", "kernel"):
        assert last[f"device.{name}"] > 0
    counted = feed.stats().device
    assert last["device.launches"] <= counted.launches
    assert last["device.kernel"] <= counted.kernel_s * 1e9
    done = trace.replay(path)
    assert (done.equal, done.first_difference) == (done.decisions, "")
    assert done.decisions == len(seen)


def test_colours_and_erasures_are_made_there(files: Path) -> None:
    def pipeline(**options: Any) -> drapps.Loader:
        described = drapps.image_folder(files).random_resized_crop(24).flip()
        described = described.color_jitter(0.4, 0.4, 0.4, 0.1).random_erasing(
            mode="normal_per_pixel"
        )
        return described.on_error("replace").batch(8, device="host", **options)

    feed = pipeline(placement="gpu")
    assert epochs(feed) == epochs(pipeline())
    assert placed(feed)["augmented"] > 0


@pytest.mark.parametrize(
    "pipeline",
    [
        lambda start: start.resize((40, 50)).random_resized_crop(24),
        lambda start: start.color_jitter(0.4).resize((24, 24)),
    ],
)
def test_later_resizes_are_made_there(
    files: Path, pipeline: Callable[[drapps.Pipeline], drapps.Pipeline]
) -> None:
    described = pipeline(drapps.image_folder(files)).on_error("replace")
    feed = described.batch(8, device="host", placement="gpu")
    assert epochs(feed) == epochs(described.batch(8))
    assert placed(feed)["augmented"] > 0


def test_without_a_device(files: Path) -> None:
    with pytest.raises(PipelineError, match=r'placement="gpu" cannot be: .*"tpu:0" is none'):
        next(iter(loader(files, placement="gpu", device="tpu:0")))
    feed = loader(files, placement="auto", device="tpu:0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert epochs(feed, 1) == epochs(loader(files), 1)
    assert '"tpu:0" is none' in placed(feed)["unused"]
    assert 'all on the CPU: device "tpu:0" is none' in str(feed.explain())


def test_arguments(files: Path) -> None:
    with pytest.raises(PipelineError, match="must be one of cpu, gpu, auto"):
        loader(files, placement="tpu")
    with pytest.raises(PipelineError, match="device=0 must be a text"):
        loader(files, placement="gpu", device=0)


def test_a_child_goes_on_by_itself(files: Path) -> None:
    feed = loader(files, placement="gpu")
    expected = epochs(feed, 2)[1]
    iterator = iter(feed)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _core._allow_host_device(1 << 30, 100_000)
            feed.set_epoch(1)
            status = 0 if epochs(feed, 1)[0] == expected else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


EXIT = """
import sys

import drapps
from drapps import _core

_core._allow_host_device(1 << 30, 100_000)
pipeline = drapps.image_folder(sys.argv[1]).decode().random_resized_crop(24).on_error("replace")
feed = pipeline.batch(8, placement="gpu", device="host")
list(feed)
iterator = iter(feed)
next(iterator)
print("under way")
"""


def test_a_program_ends_with_pictures_on_the_device(files: Path) -> None:
    words = [sys.executable, "-c", EXIT, str(files)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "under way\n", "")


def test_in_the_place_of_torchs_loader(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    datasets = pytest.importorskip("torchvision.datasets")
    transforms = pytest.importorskip("torchvision.transforms")
    import drapps.torch
    from drapps.torch import resident

    monkeypatch.setattr(resident, "core_name", lambda _: "host")
    chain = transforms.Compose([transforms.RandomResizedCrop(24), transforms.ToTensor()])
    dataset = datasets.ImageFolder(str(files), chain)

    def images_of(**options: Any) -> list[Any]:
        options |= {"num_workers": 2, "seed": 5, "on_error": "replace", "shuffle": True}
        both = drapps.torch.DataLoader(dataset, 8, **options)
        return [images for _ in range(3) for images, _ in both]

    for placement in ("gpu", "auto"):
        pairs = zip(images_of(placement=placement), images_of(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    plain = drapps.torch.DataLoader([1, 2], placement="gpu")
    with pytest.raises(PipelineError, match="runs Python code because"):
        iter(plain)
