"""What decoding learns of a Python dataset's files: shared by its processes, right, and counted."""

from __future__ import annotations

import gc
import io
import mmap
import os
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data

import drapps.torch
from drapps.accelerate.indexes import Indexes
from python.tests.cells import some_full
from python.tests.decode_files import encode

COUNT = 6


def photograph(seed):
    """A picture whose file is smaller than its pixels, and large enough for an index."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((240 + seed, 200), Image.Resampling.BICUBIC)
    return encode(image, "JPEG", quality=90, subsampling=seed % 3)


@pytest.fixture
def folder(tmp_path):
    for number in range(COUNT):
        (tmp_path / f"{number}.jpg").write_bytes(photograph(number))
    return tmp_path


class Crops(data.Dataset):
    """A crop at another place in each epoch, as random ones are."""

    thread_safe = False

    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.jpg"))

    def __len__(self):
        return len(self.paths)

    def _opened(self, index):
        return Image.open(self.paths[index])

    def __getitem__(self, index):
        left, top = torch.randint(0, 100, (2,)).tolist()
        image = self._opened(index).convert("RGB")
        return np.array(image.crop((left, top, left + 90, top + 80)).resize((40, 30), 2))


class Bytes(Crops):
    """The same of bytes, as archives and tables give them."""

    def _opened(self, index):
        return Image.open(io.BytesIO(self.paths[index].read_bytes()))


class Zipped(Crops):
    """The same of the members of an archive."""

    def _opened(self, index):
        with zipfile.ZipFile(self.paths[0].with_name("all.zip")) as archive:
            return Image.open(io.BytesIO(archive.read(self.paths[index].name)))


def loader_of(dataset, way, **options):
    workers = 2
    if way == "thread":
        dataset.thread_safe = True
    elif way == "here":
        workers = 0
    else:
        options["multiprocessing_context"] = way
        if way != "fork":  # which takes long
            workers, options["persistent_workers"] = 1, True
    options = {"num_workers": workers, "accelerate": True, "seed": 4, **options}
    return drapps.torch.DataLoader(dataset, 2, **options)


def epochs(loader, count=2):
    torch.manual_seed(9)
    return [[np.asarray(batch).tobytes() for batch in loader] for _ in range(count)]


def index_of(loader):
    return loader.explain().forms.get("jpeg_index", {})


KINDS = [Crops, Bytes, Zipped]
WAYS = {"fork": Crops, "spawn": Bytes, "forkserver": Zipped, "thread": Crops, "here": Zipped}


def compare(kind, way, folder):
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for path in folder.glob("*.jpg"):
            archive.write(path, path.name)
    loader = loader_of(kind(folder), way)
    passes = epochs(loader, 3)
    counts = index_of(loader)
    assert counts["samples"] == COUNT
    assert (counts["hits"], counts["misses"]) == (2 * COUNT, COUNT)
    assert (counts["refused"], counts["damaged"]) == (0, 0)
    assert 0 < counts["coverage"] <= 1
    assert "67% of decoding began within the file, by an index of 6" in str(loader.lifted())
    assert "jpeg index" in str(loader.explain())
    if way == "thread":  # which share the random numbers
        return
    plain = loader_of(kind(folder), "here" if way == "here" else "fork", accelerate=False)
    assert passes == epochs(plain, 3)
    assert index_of(plain) == {}


@pytest.mark.parametrize("way", some_full(WAYS, "fork", "spawn", "thread", "here"))
def test_later_epochs_decode_by_what_all_have_learnt(way, folder):
    compare(WAYS[way], way, folder)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_later_epochs_do_so_of_all_kinds(way, kind, folder):
    compare(kind, way, folder)


def test_what_was_learnt_of_a_path_serves_its_bytes(folder):
    class Both(Crops):
        def __getitem__(self, index):
            picture = Image.open(io.BytesIO(self.paths[index].read_bytes())).crop((0, 9, 50, 99))
            return np.array(picture), super().__getitem__(index)

    loader = loader_of(Both(folder), "fork")
    for _ in loader:
        pass
    assert (index_of(loader)["hits"], index_of(loader)["misses"]) == (COUNT, COUNT)


def test_a_file_that_has_changed_behind_its_attributes_is_another_one(folder):
    """Its name, size, inode and times are the same."""
    loader = loader_of(Crops(folder), "fork", num_workers=1)
    epochs(loader, 1)
    path = folder / "0.jpg"
    before, content = path.stat(), path.read_bytes()
    scan = content.index(b"\xff\xda") + 14
    changed = bytearray(content)
    changed[scan + 300 : scan + 310] = bytes(10)
    with path.open("r+b") as file:
        file.write(changed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    passes = epochs(loader, 3)
    plain = loader_of(Crops(folder), "fork", num_workers=1, accelerate=False)
    epochs(plain, 1)
    assert passes == epochs(plain, 3)
    assert index_of(loader)["samples"] > COUNT


class Scribbling(Crops):
    """Writes over the table, as native code does that writes beyond an array's end."""

    def __getitem__(self, index):
        if index == 0:
            for link in Path("/proc/self/fd").iterdir():
                if "drapps-indexes" in str(link.readlink() if link.is_symlink() else ""):
                    with mmap.mmap(int(link.name), 0) as table:
                        begin = mmap.PAGESIZE
                        table[begin + 512 :: 997] = bytes(len(range(begin + 512, len(table), 997)))
        return super().__getitem__(index)


def test_a_table_that_was_written_over_shows_in_no_pixel(folder):
    loader = loader_of(Scribbling(folder), "fork", num_workers=1)
    passes = epochs(loader, 4)
    assert index_of(loader)["damaged"] > 0
    plain = loader_of(Crops(folder), "fork", num_workers=1, accelerate=False)
    assert passes == epochs(plain, 4)


class Dying(Crops):
    """The worker that makes the fourth sample first is killed while it does."""

    def __getitem__(self, index):
        died = self.paths[0].with_name("died")
        sample = super().__getitem__(index)
        if index == 3 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sample


def test_what_a_worker_has_learnt_that_died_serves_the_others(folder):
    loader = loader_of(Dying(folder), "fork", on_worker_death="restart")
    for _ in range(2):
        for _ in loader:
            pass
    assert (folder / "died").exists()
    counts = index_of(loader)
    assert counts["samples"] == COUNT
    assert counts["hits"] >= COUNT


def test_it_counts_as_memory_of_the_process_while_the_loader_lives(folder):
    def used():
        return drapps.torch.DataLoader(Crops(folder)).memory().accounts["processes"].used

    gc.collect()
    before = used()
    loader = loader_of(Crops(folder), "here")
    epochs(loader)
    usage = index_of(loader)
    assert 0 < usage["bytes"] <= usage["budget"]
    assert used() == before + usage["bytes"]
    del loader
    gc.collect()
    assert used() == before


def test_nothing_is_kept_without_a_cache(folder):
    loader = loader_of(Crops(folder), "fork", cache="off")
    epochs(loader)
    assert loader.explain().plan.pictures["native"] == 2 * COUNT
    assert index_of(loader) == {}


def test_without_memory_for_a_table_pictures_are_decoded_as_before(folder, monkeypatch):
    monkeypatch.setattr(Indexes, "for_samples", classmethod(lambda *_: None))
    loader = loader_of(Crops(folder), "fork", num_workers=1)
    passes = epochs(loader)
    assert loader.explain().plan.pictures["native"] == 2 * COUNT
    assert index_of(loader) == {}
    monkeypatch.undo()
    assert passes == epochs(loader_of(Crops(folder), "fork", num_workers=1))


def test_the_budget_is_a_share_of_that_of_memory():
    small, unknown = Indexes.for_samples(10), Indexes.for_samples(0)
    limit = drapps.torch.DataLoader([1]).memory().limit
    huge = Indexes.for_samples(1 << 40)
    assert small.table.stats()["budget"] == 1 << 20
    assert small.table.stats()["budget"] < unknown.table.stats()["budget"] <= limit // 16
    assert limit // 32 < huge.table.stats()["budget"] <= limit // 16
