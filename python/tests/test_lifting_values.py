"""Dtypes of labels and rectangles of crops, as the stock loader gives them."""

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402

NUMBERS = [3, 1, 4, 1, 5, 9, 2]
WHOLE = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
LABELS = {
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    **{f"array {dtype}": np.array(NUMBERS, dtype) for dtype in WHOLE},
    **{f"tensor {dtype}": torch.tensor(NUMBERS, dtype=getattr(torch, dtype)) for dtype in WHOLE},
    "other byte order": np.array(NUMBERS, ">i4"),
    "strided": np.arange(14, dtype=np.int32)[::2],
}
REFUSED = {
    "list of scalars": [np.int32(number) for number in NUMBERS],
    "mixed tuple": (np.int32(1), 2, 3, 4, 5, 6, 7),
    "bools": np.array(NUMBERS) > 3,
    "floats": torch.tensor(NUMBERS, dtype=torch.bfloat16),
    "uint64": np.array(NUMBERS, np.uint64),
    "masked": np.ma.array(NUMBERS),
}


def make(torchvision, v1, name, labels):
    kind = getattr(torchvision.datasets, name)
    dataset = kind.__new__(kind)
    pixels = np.random.default_rng(0).integers(0, 256, (7, 3, 9, 9), np.uint8)
    if name == "CIFAR10":
        pixels = pixels.transpose(0, 2, 3, 1)
    elif name == "MNIST":
        pixels = torch.from_numpy(pixels[:, 0].copy())
    dataset.data, dataset.targets, dataset.labels = pixels, labels, labels
    dataset.transform, dataset.target_transform = v1.ToTensor(), None
    return dataset


@pytest.mark.parametrize("name", ["CIFAR10", "MNIST", "SVHN"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_have_the_dtype_that_stock_gives_them(torchvision, v1, name, labels):
    dataset = make(torchvision, v1, name, labels)
    for chosen in (dataset, data.Subset(dataset, [5, 0, 3])):
        mine = drapps.torch.DataLoader(chosen, 3)
        assert mine.lifted(), str(mine.lifted())
        for one, other in zip(mine, data.DataLoader(chosen, 3), strict=True):
            assert one[1].dtype == other[1].dtype
            assert torch.equal(one[1], other[1])
            assert torch.equal(one[0], other[0])


@pytest.mark.parametrize("labels", REFUSED.values(), ids=REFUSED)
def test_other_labels_are_not_lifted(torchvision, v1, labels):
    loader = drapps.torch.DataLoader(make(torchvision, v1, "CIFAR10", labels), 3)
    assert "its labels are" in loader.lifted().reasons[0]


@pytest.mark.parametrize("ratio", [(0.75, 4 / 3), (1.9, 4), (0.1, 0.6), (1, 1), (0.01, 1.2)])
def test_the_crop_after_ten_misses_is_torchvisions(tmp_path, torchvision, v1, ratio):
    draw = np.random.default_rng(0)
    (tmp_path / "a").mkdir()
    sizes = [(1, 1), (1, 9), (9, 1), (2, 3), (3, 2), (1, 40), (40, 1), (5, 17), (17, 5), (2, 31)]
    for height, width in sizes:
        pixels = draw.integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "a" / f"{height:02}_{width:02}.png")
    crop = v1.RandomResizedCrop(8, scale=(1000, 1000), ratio=ratio)  # nothing fits
    dataset = torchvision.datasets.ImageFolder(tmp_path, v1.Compose([crop, v1.ToTensor()]))
    loader = drapps.torch.DataLoader(dataset)
    assert loader.lifted(), str(loader.lifted())
    for mine, stock in zip(loader, data.DataLoader(dataset), strict=True):
        assert torch.equal(mine[0], stock[0])


@pytest.mark.parametrize("ratio", [(3, 4), (0.1, 0.3), (2, 2)])
def test_ratios_that_leave_no_pixel_stay_with_stock(tmp_path, torchvision, v1, ratio):
    (tmp_path / "a").mkdir()
    size = (1, 20) if ratio[0] > 1 else (20, 1)
    Image.new("RGB", size, (200, 100, 50)).save(tmp_path / "a" / "0.png")
    crop = v1.RandomResizedCrop(8, scale=(1000, 1000), ratio=ratio)
    dataset = torchvision.datasets.ImageFolder(tmp_path, v1.Compose([crop, v1.ToTensor()]))
    loader = drapps.torch.DataLoader(dataset)
    assert "far from a square" in str(loader.lifted())
    (mine,), (stock,) = list(loader), list(data.DataLoader(dataset))
    assert torch.equal(mine[0], stock[0])
