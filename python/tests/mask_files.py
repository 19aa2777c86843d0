"""Segmentation datasets, made in files and wrapped for v2, and what is asked of their lifting."""

import numpy as np
import torch
from PIL import Image
from torch.utils import data

import drapps.torch
from python.tests.conftest import picture

COUNT = 11


def size_of(number):
    """Height and width of a picture and its mask."""
    return 70 + 13 * number % 41, 60 + 17 * number % 53


def write_pair(number, image, mask, palette=True):
    """A picture and a mask with rectangles of several classes, and 255 for nothing."""
    height, width = size_of(number)
    picture(number, height, width).save(image)
    ids = np.full((height, width), 255, np.uint8)
    draw = np.random.default_rng(number)
    for label in range(6):
        top, left = draw.integers(0, height - 9), draw.integers(0, width - 9)
        ids[top : top + draw.integers(4, 40), left : left + draw.integers(4, 40)] = label
    canvas = Image.fromarray(ids)
    if palette:
        canvas = canvas.convert("P")
        canvas.putdata(ids.flatten().tolist())
        canvas.putpalette([k * 7 % 256 for k in range(768)])
    canvas.save(mask)


def write_voc(root):
    """A training set in the folders of VOC2012; returns `root`."""
    home = root / "VOCdevkit" / "VOC2012"
    for folder in ("ImageSets/Segmentation", "JPEGImages", "SegmentationClass"):
        (home / folder).mkdir(parents=True)
    names = [f"2007_{number:06}" for number in range(COUNT)]
    (home / "ImageSets/Segmentation/train.txt").write_text("\n".join(names))
    for number, name in enumerate(names):
        write_pair(number, home / f"JPEGImages/{name}.jpg", home / f"SegmentationClass/{name}.png")
    return root


def wrap(torchvision, dataset):
    """As v2 wants its datasets."""
    return torchvision.datasets.wrap_dataset_for_transforms_v2(dataset)


def wrapped_voc(torchvision, transforms, root):
    """What `write_voc` wrote, wrapped."""
    return wrap(torchvision, torchvision.datasets.VOCSegmentation(root, transforms=transforms))


def assert_equal(dataset, batch=4, **arguments):
    """Lifted, it gives stock's batches; returns their samples' number."""
    mine = drapps.torch.DataLoader(dataset, batch, **arguments)
    assert mine.lifted(), str(mine.lifted())
    stock = data.DataLoader(dataset, batch, **arguments)
    seen = 0
    for pair, expected in zip(mine, stock, strict=True):
        assert type(pair) is type(expected)
        assert len(pair) == len(expected) == 2
        for one, other in zip(pair, expected, strict=True):
            assert type(one) is type(other) is torch.Tensor
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert int((one != other).sum()) == 0
        seen += len(pair[0])
    return seen


def reason(dataset):
    """Why it is not lifted."""
    report = drapps.torch.DataLoader(dataset, 2).lifted()
    assert not report
    return report.reasons[0]
