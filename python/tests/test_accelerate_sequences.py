"""Random sequences of calls on pictures: with our methods in Pillow's place all is as without."""

from __future__ import annotations

import contextlib
import io
import random

import pytest
import torch
from PIL import Image, JpegImagePlugin

from drapps.accelerate import held, patching
from drapps.accelerate.here import Region, hooks
from drapps.accelerate.indexes import Indexes
from drapps.accelerate.patches import Patches
from drapps.accelerate.tally import BY_PILLOW, Counts
from python.tests.cells import some_full
from python.tests.picture_files import large_file
from python.tests.picture_sequences import Sequence, whole
from python.tests.picture_steps import PILLOW
from python.tests.torchvision_steps import (
    composed,
    composed_first,
    normalized,
    of_bytes,
    torchvision_steps,
)

# Sequences of each kind; it takes many until Pillow has been left each thing that is its own.
QUICK, FULL = {"pillow": 120, "v1": 60, "v2": 60}, 18_200
HERE = range(10_000, 10_020)
TOGETHER = 20  # sequences for which functions are replaced once: all modules are searched for them
SHARES = 20  # tests among which the full ones are divided


class Counted(Counts):
    """Counts of this process, and a table of what was learnt of all files so far."""

    known = Indexes.for_samples(20_000)

    def __init__(self):
        self.words = [0] * 16
        super().__init__(self.words, self.known.table)

    def __getitem__(self, name):
        return self.words[self._places[name]]


@contextlib.contextmanager
def patched():
    counts, patches = Counted(), Patches()
    assert patching.patch(counts, patches), counts.words
    try:
        for name in patching.imported():
            for then in patching.TENSORS.get(name, ()):
                then(patches)
        yield counts
    finally:
        patches.undo()


@pytest.fixture(scope="module")
def steps(v1, v2):
    def to_tensor(_, image):
        return v1.functional.to_tensor(image)

    def to_image(_, image):
        return v2.functional.to_image(image)

    def to_floats(_, image):
        return v2.ToDtype(torch.float32, scale=True)(v2.ToImage()(image))

    first = torchvision_steps(
        v1.functional, v1, [to_tensor, normalized(v1, to_tensor), composed_first(v1)]
    )
    more = [to_image, to_floats, normalized(v2, to_floats), composed(v2), of_bytes(v2)]
    second = torchvision_steps(v2.functional, v2, more)
    return {
        "pillow": PILLOW,
        "v1": [*PILLOW[:8], *((3 * weight, step) for weight, step in first)],
        "v2": [*PILLOW[:8], *((3 * weight, step) for weight, step in second)],
    }


@contextlib.contextmanager
def sample_here():
    """As a process makes a sample that is not a worker of ours; behind it nothing is patched."""
    with Region(counts := Counted()):
        yield counts
    assert hooks._users == 0


def compare(seeds, steps, folder, here=False):
    total = [0] * 16
    for first in range(0, len(seeds), TOGETHER):
        some = seeds[first : first + TOGETHER]
        sequences = [Sequence(seed, steps, folder) for seed in some]
        without = [sequence.run() for sequence in sequences]
        counts = []
        if here:
            outcomes = []
            for sequence in sequences:
                outcomes.append(sequence.run(within := Counting(sample_here())))
                counts.append(within.counts)
        else:
            with patched() as of_all:
                outcomes = [sequence.run() for sequence in sequences]
            counts.append(of_all)
        total = [sum(words) for words in zip(total, *(each.words for each in counts), strict=True)]
        for seed, with_it, plain in zip(some, outcomes, without, strict=True):
            assert with_it == plain, f"seed {seed}"
    return total


@pytest.mark.parametrize("kind", ["pillow", "v1", "v2"])
def test_random_sequences_show_nothing_of_it(kind, steps, tmp_path):
    count = QUICK[kind]
    native, resized, *by_pillow = compare(range(count), steps[kind], tmp_path)
    assert native > count / 3
    assert resized > count / 20
    assert Counted.known.table.stats()["hits"] > count / 50
    assert kind != "pillow" or all(by_pillow[: len(BY_PILLOW)])


class Counting:
    """A context that keeps what it gives."""

    def __init__(self, context):
        self._context = context

    def __enter__(self):
        self.counts = self._context.__enter__()

    def __exit__(self, *raised):
        return self._context.__exit__(*raised)


@pytest.mark.parametrize("kind", some_full(["pillow", "v1", "v2"], "pillow", "v2"))
def test_nor_do_they_where_a_sample_is_made_in_the_users_process(kind, steps, tmp_path):
    before = held_by_pillow()
    native, resized, *_ = compare(HERE, steps[kind], tmp_path, here=True)
    assert native > len(HERE) / 3
    assert resized > len(HERE) / 40
    assert held_by_pillow() == before


@pytest.mark.full
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("kind", ["pillow", "v1", "v2"])
def test_many_random_sequences_show_nothing_of_it(kind, share, steps, tmp_path):
    compare(range(QUICK[kind] + share, FULL, SHARES), steps[kind], tmp_path, share % 3 == 0)


@pytest.mark.parametrize(
    "box", [(0, 7, 16, 9), (2.0, 3, 14.0, 5.0), (0, 7.00000001, 16, 9), (0, 7.25, 16, 9.25)]
)
def test_a_box_as_large_as_what_it_becomes_is_cropped(box, tmp_path):
    (file := tmp_path / "a.jpg").write_bytes(large_file())
    size = round(box[2] - box[0]), round(box[3] - box[1])

    def resized():
        with Image.open(file) as image:
            return [whole(image.resize(size, how, box)) for how in (2, 3)]

    without = resized()
    with patched() as counts:
        assert resized() == without
    assert counts["native"] == 1


def held_by_pillow():
    return dict(vars(Image.Image)), dict(vars(JpegImagePlugin.JpegImageFile))


@pytest.mark.parametrize("how", [patched, sample_here])
def test_all_is_as_it_was_behind_it(how):
    before = held_by_pillow()
    with how():
        assert vars(Image.Image)["crop"] is not before[0]["crop"]
        assert "load" in vars(JpegImagePlugin.JpegImageFile)
    assert held_by_pillow() == before


class Reads(io.BytesIO):
    """Keeps what is asked of it."""

    def __init__(self, data):
        super().__init__(data)
        self.asked = []

    def read(self, size=-1):
        self.asked.append(size)
        return super().read(size)


@pytest.mark.parametrize("behind", [b"", bytes(300_000)])
def test_of_what_a_user_has_opened_as_much_is_read_as_pillow_reads(behind):
    data = large_file() + behind
    places = []
    for how in (contextlib.nullcontext, patched):
        with how() as counts:
            file = Reads(data)
            Image.open(file).load()
            places.append((file.asked, file.tell()))
            assert counts is None or counts["native"] == 1
    assert places[0] == places[1]
    assert places[0][1] < len(data) or not behind


def decoded(monkeypatch):
    """Keeps which parts of files are decoded."""
    from drapps import _core
    from drapps.accelerate import views

    parts = []

    class Watched:
        def __init__(self, pixels):
            self._pixels = pixels

        def __getattr__(self, name):
            value = getattr(self._pixels, name)
            if name not in ("planes", "resized", "interleaved") or not self._pixels.is_file:
                return value

            def call(rect, *more):
                parts.append((name, rect))
                return value(rect, *more)

            return call

    original = views.View.of_file.__func__
    monkeypatch.setattr(
        views.View, "of_file", classmethod(lambda cls, pixels: original(cls, Watched(pixels)))
    )
    assert _core.Pixels
    return parts


def test_loading_makes_no_pixels_and_a_crop_that_is_resized_is_decoded_alone(monkeypatch):
    parts = decoded(monkeypatch)
    data = large_file()
    with patched() as counts:
        image = Image.open(io.BytesIO(data))
        image.load()
        part = image.convert("RGB").crop((10, 20, 310, 220)).resize((250, 190), 2).transpose(0)
        assert parts == []
        assert type(part) is Image.Image
        pixels = part.tobytes()
        assert parts == [("resized", (20, 10, 200, 300))]
        assert counts["native"] == counts["resized"] == 1
    plain = Image.open(io.BytesIO(data)).crop((10, 20, 310, 220)).resize((250, 190), 2).transpose(0)
    assert pixels == plain.tobytes()


@pytest.mark.parametrize("gap", [None, 1.1])
def test_of_a_box_that_is_resized_what_it_reads_is_decoded(monkeypatch, gap):
    parts, data = decoded(monkeypatch), large_file()
    box = (30.5, 40.25, 130.0, 99)

    def resized():
        image = Image.open(io.BytesIO(data)).transpose(0)
        return image.resize((99, 64), 2, box, gap).tobytes()

    with patched() as counts:
        pixels = resized()
        assert parts == [("resized", (40, 400 - 131, 60, 101))]
        assert counts["native"] == counts["resized"] == 1
    assert pixels == resized()


def test_of_a_box_that_is_reduced_no_more_is_decoded(monkeypatch):
    parts, data = decoded(monkeypatch), large_file()

    def resized():
        image = Image.open(io.BytesIO(data))
        return image.resize((20, 20), 3, (100, 100, 300, 250.5), 2.0).tobytes()

    with patched():
        pixels = resized()
        [(name, (top, left, height, width))] = parts
    assert (name, height < 200, width < 250) == ("interleaved", True, True)
    assert (top, left) > (80, 80)
    assert pixels == resized()


def test_many_parts_of_a_picture_are_cut_from_one_that_is_decoded(monkeypatch):
    parts = decoded(monkeypatch)
    data, rng = large_file(), random.Random(1)
    boxes = [(rng.randint(0, 50), rng.randint(0, 50), 300, 250) for _ in range(8)]
    with patched():
        image = Image.open(io.BytesIO(data))
        crops = [whole(image.crop(box).resize((40, 30), 2)) for box in boxes]
    assert len(parts) == 2, "a part, and then all of it"
    plain = Image.open(io.BytesIO(data))
    assert crops == [whole(plain.crop(box).resize((40, 30), 2)) for box in boxes]


def test_a_small_part_that_is_kept_keeps_no_large_file():
    with patched():
        image = Image.open(io.BytesIO(large_file()))
        part = image.crop((5, 5, 25, 25))
        small = image.resize((20, 20), 2)
        assert part._im.view.source.nbytes <= 4 * 400
        assert small._im.view.source.nbytes <= 4 * 400


def test_a_function_of_the_users_stays_his(monkeypatch):
    called = []
    plain = Image.Image.resize

    def mine(self, *args, **options):
        called.append(args)
        return plain(self, *args, **options)

    monkeypatch.setattr(Image.Image, "resize", mine)
    with patched() as counts:
        assert vars(Image.Image)["resize"] is mine
        Image.open(io.BytesIO(large_file())).crop((0, 0, 50, 60)).resize((9, 9))
        assert counts["native"] == 1
        assert counts["resized"] == 0
    assert called


@pytest.mark.parametrize("name", ["load", "_new", "tobytes"])
def test_what_all_pictures_go_through_is_left_alone_where_a_user_has_replaced_it(name, monkeypatch):
    plain = vars(Image.Image)[name]
    monkeypatch.setattr(Image.Image, name, lambda self, *args: plain(self, *args))
    counts = Counted()
    assert not patching.patch(counts, Patches())
    assert 3 in counts.words


def test_a_pillow_that_decodes_otherwise_is_left_alone(monkeypatch):
    from drapps.accelerate import proof

    monkeypatch.setattr(proof, "_known", None)
    monkeypatch.setattr(proof, "_is", lambda *_: False)
    counts = Counted()
    assert not patching.patch(counts, Patches())
    assert 2 in counts.words


def test_a_pillow_without_the_property_is_left_alone(monkeypatch):
    monkeypatch.delattr(Image.Image, "im", raising=False)
    monkeypatch.setattr(held, "is_attribute", lambda _: False)
    counts = Counted()
    assert not patching.patch(counts, Patches())
    assert 1 in counts.words
