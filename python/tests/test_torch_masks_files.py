"""Files of segmentation datasets that are unlike most: other modes, few bits, bad or turned."""

import struct
import zlib
from functools import partial

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")

from torch.utils import data

import drapps.torch
from python.tests.conftest import picture
from python.tests.mask_files import (
    COUNT,
    assert_equal,
    reason,
    size_of,
    wrap,
    wrapped_voc,
    write_voc,
)


@pytest.fixture
def voc(torchvision):
    return partial(wrapped_voc, torchvision)


@pytest.fixture
def own_voc(tmp_path):
    return write_voc(tmp_path / "voc")


def mask_file(root, number):
    return root / f"VOCdevkit/VOC2012/SegmentationClass/2007_{number:06}.png"


def test_masks_that_are_no_class_ids_stay_with_stock(voc, own_voc, v2):
    chain = v2.Compose([v2.Resize((20, 20)), v2.ToImage()])
    Image.new("RGB", size_of(0)[::-1]).save(mask_file(own_voc, 0))
    assert "mode RGB" in reason(voc(chain, own_voc))
    Image.new("1", size_of(0)[::-1]).save(mask_file(own_voc, 0))
    assert "mode 1" in reason(voc(chain, own_voc))


def gray_png(path, ids, depth):
    """A gray PNG of `depth` bits, which Pillow does not write."""
    height, width = ids.shape
    bits = (ids[..., None] >> np.arange(depth - 1, -1, -1)) & 1
    rows = np.packbits(bits.reshape(height, -1), axis=1)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw)),
        (b"IEND", b""),
    ]
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            for kind, body in chunks
        )
    )


def test_masks_of_fewer_bits_are_read_as_pillow_reads_them(voc, own_voc, v2):
    draw = np.random.default_rng(0)
    for number, bits in ((0, 1), (1, 2), (2, 4)):
        ids = draw.integers(0, 2**bits, size_of(number), np.uint8)
        mask = Image.fromarray(ids).convert("P")
        mask.putdata(ids.flatten().tolist())
        mask.putpalette([7, 8, 9] * 2**bits)
        mask.save(mask_file(own_voc, number), bits=bits)
    for number, bits in ((3, 2), (4, 4)):
        gray_png(mask_file(own_voc, number), draw.integers(0, 2**bits, size_of(number)), bits)
    dataset = voc(v2.Compose([v2.Resize((40, 44)), v2.ToImage()]), own_voc)
    assert_equal(data.Subset(dataset, range(5)))
    wide = mask_file(own_voc, 0)
    Image.fromarray(np.zeros(size_of(0), np.uint16)).save(wide)
    assert "mode I;16" in reason(dataset)


def test_detection_is_named_and_runs_as_python_code(own_voc, torchvision, v2):
    home = own_voc / "VOCdevkit/VOC2012"
    (home / "ImageSets/Main").mkdir()
    (home / "ImageSets/Main/train.txt").write_text("2007_000000\n2007_000001")
    (home / "Annotations").mkdir()
    box = "<bndbox><xmin>3</xmin><ymin>4</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>"
    for number in range(2):
        text = f"<annotation><object><name>dog</name>{box}</object></annotation>"
        (home / f"Annotations/2007_{number:06}.xml").write_text(text)
    chain = v2.Compose([v2.Resize((20, 20)), v2.ToImage()])
    dataset = wrap(torchvision, torchvision.datasets.VOCDetection(own_voc, transforms=chain))
    assert "VOCDetection, wrapped for v2" in reason(dataset)
    loader = drapps.torch.DataLoader(dataset, 2, collate_fn=list)
    assert "collate_fn" in loader.lifted().reasons[0]
    ((first, second),) = loader
    assert [type(image).__name__ for image, _ in (first, second)] == ["Image", "Image"]
    assert first[1]["boxes"].canvas_size == (20, 20)


def test_a_mask_of_another_size_or_a_bad_one_is_a_bad_sample(voc, own_voc, v2):
    chain = v2.Compose([v2.CenterCrop((20, 20)), v2.ToImage()])
    Image.new("L", (9, 9)).save(mask_file(own_voc, 1))
    mask_file(own_voc, 4).write_bytes(mask_file(own_voc, 4).read_bytes()[:60])
    mask_file(own_voc, 6).unlink()
    loader = drapps.torch.DataLoader(voc(chain, own_voc), 1)
    assert loader.lifted()
    iterator = iter(loader)
    messages = []
    for index in range(COUNT):
        if index not in (1, 4, 6):
            next(iterator)
            continue
        with pytest.raises(drapps.SampleError) as caught:
            next(iterator)
        assert caught.value.index == index
        assert caught.value.path == str(mask_file(own_voc, index))
        messages.append(caught.value.message)
    assert "make them equal" in messages[0]
    skipping = drapps.torch.DataLoader(voc(chain, own_voc), 4, on_error="skip")
    assert sum(len(masks) for _, masks in skipping) == COUNT - 3


def test_orientation_is_ignored_on_both_sides(voc, own_voc, v2):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = own_voc / "VOCdevkit/VOC2012/JPEGImages/2007_000002.jpg"
    picture(2, *size_of(2)).save(turned, exif=exif)
    assert_equal(voc(v2.Compose([v2.Resize((33, 21)), v2.ToImage()]), own_voc))
