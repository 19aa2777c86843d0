"""Pictures that a dataset keeps, caches or gives away unmade: as Pillow's own would be."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from torch.utils import data

import drapps
from drapps.accelerate.here import Region
from drapps.accelerate.tally import Tally
from drapps.torch.own_state import Watch
from python.tests.cells import some_full
from python.tests.photo_batches import FORKED, Photos, batches

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


@pytest.mark.parametrize("what", some_full(KEEPS, "unloaded", "loaded"))
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
