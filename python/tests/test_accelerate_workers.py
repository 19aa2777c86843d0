"""Pictures of Python datasets in worker processes: made natively, the same, counted, or not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from cv2 import imread as picture_of
from PIL import Image, ImageOps
from PIL.Image import open as open_picture
from torch.utils import data
from torchvision.transforms.functional import to_tensor

import drapps
import drapps.torch
from drapps.accelerate.here import Region
from drapps.accelerate.late import LatePixels
from drapps.accelerate.tally import Tally
from drapps.torch.own_state import Watch
from python.tests.decode_files import jpeg

STARTS = ["fork", "spawn", "forkserver"]
FORKED = ["fork", *(pytest.param(start, marks=pytest.mark.full) for start in STARTS[1:])]


class Photos(data.Dataset):
    """Pictures in a folder, as people read them."""

    def __init__(self, folder, transform=None):
        self.paths = sorted(path for path in Path(folder).rglob("*.*") if path.suffix != ".txt")
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            picture = image.convert("RGB")
        if self.transform is None:
            return np.asarray(picture.resize((48, 40))), picture.size
        return self.transform(picture), index


class Pairs(Photos):
    """Two crops of one picture, and a gray one from bytes."""

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self.paths[index].read_bytes()))
        image.load()
        left = int(torch.randint(0, 20, ()))
        crops = [image.convert("RGB").crop((left, each, left + 50, each + 40)) for each in (0, 20)]
        gray = image.convert("L").resize((33, 21), Image.Resampling.BILINEAR)
        flipped = crops[1].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return np.stack([np.array(each) for each in (crops[0], flipped)]), np.array(gray)


class Zipped(Photos):
    """Gray pictures, from members of an archive that each process opens."""

    archive = None

    def __getitem__(self, index):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.paths[0].parent / "all.txt")
        with self.archive.open(f"{index}") as file, Image.open(file) as image:
            upright = ImageOps.exif_transpose(image).convert("L")
        return np.asarray(upright.crop((2, 3, 70, 60)).resize((37, 29), 2)), upright.size


class Stream(data.IterableDataset):
    """The same as a stream."""

    def __init__(self, folder):
        self.inner = Zipped(folder)

    def __iter__(self):
        return iter(self.inner)


class Replaced(Photos):
    """Puts a method of its own in Pillow's place."""

    def __getitem__(self, index):
        def copy(self):  # noqa: ARG001
            return Image.new("RGB", (8, 8), (1, 2, 3))

        Image.Image.copy = copy
        return np.asarray(Image.open(self.paths[0]).copy())


def batches(dataset, **options):
    torch.manual_seed(7)
    options = {"batch_size": 4, "num_workers": 2, "seed": 3, **options}
    loader = drapps.torch.DataLoader(dataset, **options)
    return list(loader), loader


def same(left, right):
    return len(left) == len(right) and all(
        all(map(torch.equal, map(torch.as_tensor, a), map(torch.as_tensor, b)))
        for a, b in zip(left, right, strict=True)
    )


def chain(transforms):
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(40),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


@pytest.mark.parametrize("start", FORKED)
def test_batches_are_the_same_and_pictures_are_counted(start, photos, v1):
    dataset = Photos(photos, chain(v1))
    options = {"multiprocessing_context": start, "shuffle": True}
    with_it, loader = batches(dataset, **options)
    without, plain = batches(dataset, accelerate=False, **options)
    assert same(with_it, without)
    counts = loader.explain().plan.pictures
    jpegs = len(list(photos.rglob("*.jpg")))
    assert counts["native"] == jpegs
    assert counts["resized"] > 0
    assert f"{jpegs} pictures decoded natively" in str(loader.lifted())
    assert f"{jpegs} pictures decoded natively" in str(loader.explain())
    assert plain.explain().plan.pictures is None
    assert plain.lifted().pictures == ""


@pytest.mark.parametrize("start", FORKED)
@pytest.mark.parametrize("kind", [Photos, Pairs, Zipped, Stream])
def test_whole_datasets_are_the_same(kind, start, tmp_path):
    for number, sampling in enumerate(("4:4:4", "4:2:0", "4:2:2", "gray")):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(sampling, 90 + number, 111, quality=60))
        progressive = jpeg(sampling, 75, 80 + number, progressive=True)
        (tmp_path / f"{number}p.jpg").write_bytes(progressive)
    with zipfile.ZipFile(tmp_path / "all.txt", "w") as archive:
        for number, path in enumerate(sorted(tmp_path.glob("*.jpg"))):
            archive.write(path, f"{number}")
    options = {"multiprocessing_context": start, "num_workers": 1}
    with_it, loader = batches(kind(tmp_path), batch_size=1, **options)
    assert same(with_it, batches(kind(tmp_path), num_workers=0, batch_size=1)[0])
    counts = loader.explain().plan.pictures
    assert (counts["native"], counts["progressive"]) == (4, 4)
    assert "4 by Pillow (4 progressive)" in str(loader.lifted())


def test_counts_outlive_a_pass_and_are_of_all_passes(photos):
    loader = drapps.torch.DataLoader(Photos(photos), 1, num_workers=1)
    jpegs = len(list(photos.rglob("*.jpg")))
    for number in (1, 2):
        for _ in loader:
            pass
        assert loader.explain().plan.pictures["native"] == number * jpegs
    persistent = drapps.torch.DataLoader(Photos(photos), 1, num_workers=1, persistent_workers=True)
    for number in (1, 2):
        for _ in persistent:
            pass
        assert persistent.explain().plan.pictures["native"] == number * jpegs


def test_the_variable_switches_it_off(photos, monkeypatch):
    monkeypatch.setenv("DRAPPS_ACCELERATE", "0")
    made, loader = batches(Photos(photos), batch_size=1)
    assert loader.explain().plan.pictures is None
    monkeypatch.setenv("DRAPPS_ACCELERATE", "1")
    again, loader = batches(Photos(photos), batch_size=1)
    assert loader.explain().plan.pictures["native"] > 0
    assert same(made, again)


def test_nothing_of_it_is_in_this_process(photos):
    before = dict(vars(Image.Image))
    batches(Photos(photos), batch_size=1)
    batches(Photos(photos), batch_size=1, num_workers=0)
    assert dict(vars(Image.Image)) == before


def test_what_a_dataset_replaces_in_its_worker_is_called(photos):
    made, _ = batches(Replaced(photos), batch_size=1)
    assert {tuple(batch.shape) for batch in made} == {(1, 8, 8, 3)}


def test_why_pillow_is_left_alone_is_said(photos, monkeypatch):
    plain = Image.Image.load
    monkeypatch.setattr(Image.Image, "load", lambda self: plain(self))
    _, loader = batches(Photos(photos), batch_size=1, multiprocessing_context="fork")
    assert "functions of Pillow that all pictures go through were replaced" in str(loader.lifted())
    assert set(loader.explain().plan.pictures) == {"left_alone"}


class Threaded(Photos):
    """Threads of its own make a sample."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        image.load()
        boxes = [(each, each, each + 40, each + 30) for each in range(16)]
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda box: np.asarray(image.crop(box).resize((31, 23))), boxes))
        return np.stack([np.asarray(Image.fromarray(each).convert("RGB")) for each in made])


def test_threads_of_a_dataset_share_a_picture(photos):
    with_it, loader = batches(Threaded(photos), batch_size=1)
    assert loader.explain().plan.pictures["native"] > 0
    assert same(
        [[each] for each in with_it],
        [[each] for each in batches(Threaded(photos), batch_size=1, num_workers=0)[0]],
    )


# How many, and what is kept of each.
KEEPS = {
    "unloaded": (200, lambda image: image),  # whose files are open
    "one": (1, lambda image: image.load() and image),
    "loaded": (1000, lambda image: image.load() and image),
    "gray": (1000, lambda image: image.convert("L")),
    "crops": (1000, lambda image: image.convert("RGB").crop((0, 0, 20, 20)).resize((64, 48), 2)),
}
SPARE = 2 << 20  # bytes, of what else a process does


class Keeping(Photos):
    """Keeps pictures, and says what memory they take."""

    def __init__(self, folder, what):
        super().__init__(folder)
        self.count, self.keep = KEEPS[what]

    def __getitem__(self, index):
        before = _own_bytes()
        kept = [self.keep(Image.open(self.paths[0])) for _ in range(self.count)]
        taken = _own_bytes() - before
        for image in kept:
            image.close()
        return taken


def _own_bytes():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


@pytest.mark.parametrize("what", KEEPS)
def test_pictures_that_are_kept_take_no_more_memory_than_pillows(what, tmp_path):
    smooth = Image.linear_gradient("L").resize((200, 150)).convert("RGB")
    smooth.save(tmp_path / "a.jpg", quality=90)
    options = {"batch_size": 1, "num_workers": 1, "multiprocessing_context": "fork"}
    ours = int(batches(Keeping(tmp_path, what), **options)[0][0])
    theirs = int(batches(Keeping(tmp_path, what), accelerate=False, **options)[0][0])
    assert ours < theirs + SPARE
    if what == "loaded":
        assert theirs > 1000 * 200 * 150 * 4 > 2 * ours


class Cropped(Photos):
    """Pictures that are not made yet."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return image.crop((3, 4, 60, 50)).resize((30, 20)), image


class Seen(data.Dataset):
    """What a dataset of pictures gives, as bytes."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        return [
            (each.size, each.mode, sorted(vars(each)), each.tobytes()) for each in self.inner[index]
        ]


@pytest.mark.parametrize("start", FORKED)
def test_pictures_that_are_not_made_yet_are_cached_as_others_are(start, photos):
    options = {"batch_size": 1, "multiprocessing_context": start, "collate_fn": list}
    plain = list(batches(Seen(Cropped(photos)), accelerate=False, **options)[0])
    kept = drapps.cached(Cropped(photos), budget=64 << 20)
    for _ in range(2):
        assert batches(Seen(kept), **options)[0] == plain
    stats = kept.stats()
    assert (stats["items"], stats["hits"]) == (len(plain), len(plain))


class Holding(Photos):
    """Keeps pictures, and what gives their pixels, on itself from sample to sample."""

    def __getitem__(self, index):
        self.last = Image.open(self.paths[index]).convert("RGB")
        self.access = self.last.load()
        self.small = {"of": [self.last.resize((9, 8), 2)]}
        return index


def test_the_watch_for_own_state_takes_late_pictures_as_it_takes_pillows(photos):
    def seen():
        dataset = Holding(photos)
        watch, pictures = Watch({"dataset": dataset}), []
        for index in (0, 1, 2):
            dataset[index]
            watch.sample_made()
            pictures.append(watch.batch_made())
        assert type(dataset.small["of"][0]) is Image.Image
        return pictures, {path: part.kind for path, part in watch._seen.items()}

    with Region(counts := Tally(1).of_process(0)):
        late = seen()
    assert counts._words[0] == 3
    assert late == seen()


class ByName(Photos):
    """Of functions that this module has imported by name."""

    def __getitem__(self, index):
        image = open_picture(self.paths[index]).convert("RGB")
        array = picture_of(str(self.paths[index]), 0)
        return to_tensor(image.resize((30, 20))), -1 if array is None else array[:20, :20].copy()


@pytest.mark.parametrize("start", FORKED)
def test_functions_imported_by_name_are_answered(start, photos):
    options = {"batch_size": 1, "multiprocessing_context": start}
    with_it, loader = batches(ByName(photos), **options)
    assert same(with_it, batches(ByName(photos), accelerate=False, **options)[0])
    jpegs = len(list(photos.rglob("*.jpg")))
    assert loader.explain().plan.pictures["native"] == 2 * jpegs


class Wrapped(data.Dataset):
    """Whether what two modules have imported by name is ours."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        held = [to_tensor]
        if self.late:
            held.append(sys.modules["imported_late"].to_tensor)
        return torch.tensor([hasattr(each, "__wrapped__") for each in held])

    late = False


def test_in_forked_workers_too_and_in_modules_imported_between_two_passes(monkeypatch):
    dataset = Wrapped()
    loader = drapps.torch.DataLoader(dataset, num_workers=1, multiprocessing_context="fork")
    assert next(iter(loader)).all()
    module = types.ModuleType("imported_late")
    module.to_tensor = to_tensor
    monkeypatch.setitem(sys.modules, "imported_late", module)
    dataset.late = True
    assert next(iter(loader)).tolist() == [[True, True]]


def test_tensors_are_made_of_views_by_a_function_imported_by_name(photos):
    path = next(photos.rglob("*.jpg"))
    plain = to_tensor
    with Region(Tally(1).of_process(0)):
        assert to_tensor is not plain
        made = to_tensor(image := Image.open(path).convert("RGB"))
        assert type(image._im) is LatePixels
        assert image._im.view is not None, "no pixels of Pillow's were made"
    assert to_tensor is plain
    assert torch.equal(made, to_tensor(Image.open(path).convert("RGB")))


LATER = """
import sys
import drapps.torch, torch
class Later(torch.utils.data.Dataset):
    def __len__(self): return 3
    def __getitem__(self, index):
        import numpy as np
        from PIL import Image, JpegImagePlugin
        spec = JpegImagePlugin.__spec__
        assert spec.loader is JpegImagePlugin.__loader__, spec
        assert type(spec.loader).__module__.startswith(("importlib", "_frozen")), spec
        return np.asarray(Image.open(sys.argv[1]).convert("RGB"))
assert "PIL.Image" not in sys.modules
loader = drapps.torch.DataLoader(Later(), 1, num_workers=2)
found = list(loader)
assert "PIL.Image" not in sys.modules
print(loader.explain().plan.pictures)
"""


def test_a_pillow_that_workers_import_later_is_answered_too(photos):
    path = next(photos.rglob("*.jpg"))
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(drapps.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert "'native': 3" in done.stdout
