"""Pictures in memory: the same batches as the stock loader's, whatever transforms there are."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

from python.tests.array_batches import assert_equal_to_stock, loader, values  # noqa: E402
from python.tests.cells import some_full  # noqa: E402


@pytest.fixture(scope="module")
def vision(torchvision):
    """Makes torchvision's datasets without their files: what their __init__ would leave."""

    def make(name, transform, **attributes):
        kind = getattr(torchvision.datasets, name)
        dataset = kind.__new__(kind)
        dataset.__dict__.update(root="", transform=transform, target_transform=None, **attributes)
        return dataset

    return make


def gray(count, side=28):
    return values((count, side, side), torch.uint8, 5)


def families(make, transform):
    """One of each kind, as its files would make it."""
    classes = torch.arange(37) % 10
    numbers = [int(label) for label in classes]
    planes = values((37, 3, 32, 32), torch.uint8, 6).numpy()
    matlab = np.asfortranarray(planes.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST"):
        yield make(name, transform, data=gray(37), targets=classes)
    yield make(
        "QMNIST", transform, data=gray(37), targets=torch.stack([classes] * 8, 1), compat=True
    )
    for name in ("CIFAR10", "CIFAR100"):
        yield make(name, transform, data=planes.transpose(0, 2, 3, 1), targets=numbers)
        pixels = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        yield make(name, transform, data=pixels, targets=numbers)
    yield make("SVHN", transform, data=matlab, labels=np.array(numbers))
    yield make("SVHN", transform, data=planes.transpose(0, 1, 3, 2), labels=np.array(numbers))
    yield make("STL10", transform, data=planes, labels=np.array(numbers, np.uint8))
    yield make("USPS", transform, data=gray(37, 16).numpy(), targets=numbers)
    yield make("SEMEION", transform, data=gray(37, 16).numpy(), labels=np.array(numbers))


CHAINS = {
    "to_tensor": lambda t, _v2: t.ToTensor(),
    "normalized": lambda t, _v2: t.Compose([t.ToTensor(), t.Normalize([0.28], [0.35])]),
    "bytes": lambda t, _v2: t.PILToTensor(),
    "v2": lambda _t, v2: v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
    "v2_normalized": lambda _t, v2: v2.Compose(
        [v2.ToImage(), v2.ToDtype(torch.float32, True), v2.Normalize([0.5], [0.25])]
    ),
    "gray": lambda t, _v2: t.Compose([t.Grayscale(1), t.ToTensor()]),
    "three_grays": lambda t, _v2: t.Compose([t.Grayscale(3), t.ToTensor()]),
    "resized": lambda t, _v2: t.Compose([t.Resize((20, 24)), t.ToTensor()]),
    "cut": lambda t, _v2: t.Compose([t.CenterCrop(12), t.ToTensor()]),
    "padded": lambda t, _v2: t.Compose([t.Pad(2), t.ToTensor()]),
    "flipped": lambda t, _v2: t.Compose([t.RandomHorizontalFlip(1.0), t.ToTensor()]),
    "turned": lambda t, _v2: t.Compose([t.ToTensor(), t.RandomVerticalFlip(1.0)]),
}


@pytest.mark.parametrize(
    "chain", some_full(CHAINS, "normalized", "bytes", "v2", "gray", "flipped", "turned")
)
def test_pictures_in_memory_are_those_of_the_stock_loader(torchvision, vision, chain):
    v2 = importlib.import_module(f"{torchvision.__name__}.transforms.v2")
    transform = CHAINS[chain](torchvision.transforms, v2)
    for dataset in families(vision, transform):
        assert "in memory" in loader(dataset).lifted().dataset
        assert_equal_to_stock(dataset, 8)
        assert_equal_to_stock(data.Subset(dataset, [36, 0, -2, 11]), 3)


def test_random_crops_with_padding_are_parts_of_the_picture(torchvision, vision):
    t = torchvision.transforms
    crop = t.Compose([t.RandomCrop(32, padding=4), t.RandomHorizontalFlip(), t.PILToTensor()])
    dataset = list(families(vision, crop))[5]
    batches = loader(dataset, 37, num_workers=1, seed=3)
    (first,), (second,) = [[x for x, _ in batches] for _ in range(2)]
    assert not torch.equal(first, second)
    for picture, image in zip(dataset.data, first, strict=True):
        padded = np.pad(picture.transpose(2, 0, 1), ((0, 0), (4, 4), (4, 4)))
        parts = [padded[:, y : y + 32, x : x + 32] for y in range(9) for x in range(9)]
        either = [*parts, *(part[:, :, ::-1] for part in parts)]
        assert any(np.array_equal(part, image) for part in either)


def test_what_a_dataset_in_memory_does_besides_picking_pictures(torchvision, vision):
    t = torchvision.transforms
    plain = t.ToTensor()

    def reason(dataset):
        return loader(dataset, lifted=False).lifted().reasons[0]

    fine = {"data": gray(5), "targets": torch.arange(5)}
    assert "no transform" in reason(vision("MNIST", None, **fine))
    odd = vision("MNIST", plain, **fine)
    odd.target_transform = str
    assert "target_transform" in reason(odd)
    assert "no native form" in reason(vision("MNIST", plain, **{**fine, "data": gray(5).float()}))
    assert "labels for" in reason(vision("MNIST", plain, data=gray(5), targets=[1, 2]))
    assert "type int" in reason(vision("MNIST", plain, data=gray(5), targets=[1.0] * 5))
    assert "64 bits" in reason(vision("MNIST", plain, data=gray(5), targets=[2**70] * 5))
    assert "no labels" in reason(
        vision("STL10", plain, data=np.zeros((2, 3, 8, 8), "u1"), labels=None)
    )
    eight = torch.zeros(5, 8, dtype=torch.int64)
    assert "compat" in reason(vision("QMNIST", plain, data=gray(5), targets=eight, compat=False))
    inks = np.zeros((2, 8, 8, 4), np.uint8)
    assert "channels" in reason(vision("CIFAR10", plain, data=inks, targets=[1, 2]))
    assert "GaussianBlur" in reason(vision("MNIST", t.Compose([t.GaussianBlur(3), plain]), **fine))
    sub = type("Mine", (torchvision.datasets.MNIST,), {})
    mine = sub.__new__(sub)
    mine.__dict__.update(fine, transform=plain, target_transform=None)
    assert "Mine" in reason(mine)


@pytest.mark.parametrize("workers", [0, 2])
def test_changed_data_is_seen_at_the_next_epoch_without_a_copy(vision, torchvision, workers):
    dataset = vision(
        "CIFAR10",
        torchvision.transforms.PILToTensor(),
        data=np.zeros((6, 32, 32, 3), np.uint8),
        targets=[0] * 6,
    )
    batches = loader(dataset, 6, num_workers=workers)

    def epoch():
        ((pictures, labels),) = batches
        return int(pictures.max()), labels.tolist()

    assert epoch() == (0, [0] * 6)
    dataset.data[:] = 9
    dataset.targets[2] = 7
    assert epoch() == (9, [0, 0, 7, 0, 0, 0])
    dataset.data = np.full((6, 32, 32, 3), 4, np.uint8)
    dataset.targets = [1] * 6
    assert epoch() == (4, [1] * 6)
    dataset.data = dataset.data[:4]
    dataset.targets = dataset.targets[:4]
    assert epoch() == (4, [1] * 4)
