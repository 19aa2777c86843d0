"""What a user changes in a lifted dataset counts from the next pass on, as under stock."""

import importlib
import random

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from drapps.worker.lists import SharedList  # noqa: E402


@pytest.fixture
def photographs(torchvision, v1, photos):
    chain = v1.Compose([v1.Resize((16, 16)), v1.ToTensor()])
    return torchvision.datasets.ImageFolder(photos, chain)


def labels_of(loader):
    return torch.cat([labels for _, labels in loader]).tolist()


def assert_as_stock(loader, dataset):
    assert loader.lifted(), str(loader.lifted())
    mine, stock = list(loader), list(data.DataLoader(dataset, loader.batch_size))
    assert len(mine) == len(stock)
    for one, other in zip(mine, stock, strict=True):
        for field, wanted in zip(one, other, strict=True):
            assert field.dtype == wanted.dtype
            assert torch.equal(field, wanted)


def relabel_one(samples):
    samples[3] = (samples[3][0], 99)


def mix(samples):
    random.Random(3).shuffle(samples)


def replace_first_and_last(samples):
    samples[0], samples[-1] = samples[-1], samples[0]


def drop_some(samples):
    del samples[2:9]


CHANGES = (relabel_one, mix, replace_first_and_last, drop_some)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["samples", "imgs"])
def test_samples_that_change_in_place_are_read_again(photographs, change, name):
    loader = drapps.torch.DataLoader(photographs, 4)
    assert_as_stock(loader, photographs)
    change(getattr(photographs, name))
    assert_as_stock(loader, photographs)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_change_between_report_and_pass_counts(photographs, workers):
    loader = drapps.torch.DataLoader(photographs, 4, num_workers=workers)
    assert loader.lifted()
    relabel_one(photographs.samples)
    assert labels_of(loader)[3] == 99


def test_what_stock_does_not_read_changes_nothing(photographs):
    loader = drapps.torch.DataLoader(photographs, 4)
    before = labels_of(loader)
    photographs.targets[3] = 99
    photographs.imgs = []
    assert labels_of(loader) == before
    assert_as_stock(loader, photographs)


def test_a_change_is_seen_through_subsets(photographs):
    inner = data.Subset(photographs, [0, 3, 7, 8])
    outer = data.Subset(inner, [3, 1, -2])
    loader = drapps.torch.DataLoader(outer, 2)
    assert_as_stock(loader, outer)
    relabel_one(photographs.samples)
    assert_as_stock(loader, outer)
    inner.indices[2] = 20
    assert_as_stock(loader, outer)
    outer.indices.append(0)
    assert_as_stock(loader, outer)


def test_labels_that_are_equal_and_of_another_type_are_no_longer_lifted(photographs):
    loader = drapps.torch.DataLoader(photographs, 4)
    assert loader.lifted()
    path, label = photographs.samples[0]
    photographs.samples[0] = (path, float(label))
    assert "not all of type int" in str(loader.lifted())
    assert next(iter(loader))[1].dtype == next(iter(data.DataLoader(photographs, 4)))[1].dtype


def test_samples_that_may_change_within_are_not_lifted(photographs):
    photographs.samples = [list(sample) for sample in photographs.samples]
    assert "tuples of a path and a label" in str(drapps.torch.DataLoader(photographs).lifted())


def test_samples_of_a_class_of_the_users_are_not_lifted(photographs):
    class Reversed(list):
        def __getitem__(self, index):
            return super().__getitem__(-1 - index)

    photographs.samples = Reversed(photographs.samples)
    assert "its samples are a" in str(drapps.torch.DataLoader(photographs).lifted())


def test_indices_that_the_dataset_refuses_are_not_lifted(photographs):
    for indices, reason in (([0, 21], "does not have"), (["3"], "no whole numbers")):
        report = drapps.torch.DataLoader(data.Subset(photographs, indices)).lifted()
        assert reason in str(report)


def test_samples_in_shared_memory_are_lifted_and_followed(photographs):
    photographs.samples = SharedList.of(photographs.samples)
    loader = drapps.torch.DataLoader(photographs, 4)
    assert_as_stock(loader, photographs)
    relabel_one(photographs.samples)
    assert labels_of(loader)[3] == 99
    photographs.samples[3] = (photographs.samples[3][0], 98)
    assert labels_of(loader)[3] == 98


def test_a_pass_that_runs_keeps_what_it_began_with(photographs):
    loader = drapps.torch.DataLoader(photographs, 4, num_workers=1)
    running = iter(loader)
    relabel_one(photographs.samples)
    assert next(running)[1].tolist() == [0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_persistent_workers_keep_the_dataset_they_started_with(photographs, v1):
    options = {"batch_size": 4, "num_workers": 1, "persistent_workers": True}
    mine = drapps.torch.DataLoader(photographs, **options)
    stock = data.DataLoader(photographs, **options)
    before = labels_of(mine)
    assert labels_of(stock) == before
    relabel_one(photographs.samples)
    assert labels_of(mine) == labels_of(stock) == before
    photographs.transform = v1.Compose([v1.GaussianBlur(3), v1.Resize((8, 8)), v1.ToTensor()])
    assert mine.lifted()
    assert next(iter(mine))[0].shape == next(iter(stock))[0].shape == (4, 3, 16, 16)
    stock._iterator._shutdown_workers()


def test_another_sampler_in_the_batch_sampler_is_followed(photographs):
    loader = drapps.torch.DataLoader(photographs, 4, sampler=[0, 1, 2, 3])
    assert labels_of(loader) == [0, 0, 0, 0]
    loader.batch_sampler.sampler = [20, 19, 0, 18]
    assert labels_of(loader) == [2, 2, 0, 2]


@pytest.mark.parametrize("kind", [list, tuple])
def test_batches_that_are_listed_are_those_of_stock(photographs, kind):
    listed = kind([[0, 20, 1], (-1, 7, 7), [3]])
    loader = drapps.torch.DataLoader(photographs, batch_sampler=listed, torch_order=True)
    assert loader.lifted() and "the batch sampler lists" in loader.lifted().order
    assert len(loader) == 3
    for _ in range(2):
        stock = data.DataLoader(photographs, batch_sampler=listed)
        for batch, expected in zip(loader, stock, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(batch, expected, strict=True))
        if kind is list:
            listed[0] = [8, 9, 10]
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    again = drapps.torch.DataLoader(photographs, batch_sampler=listed)
    again.load_state_dict(state)
    assert labels_of(again) == [label for _, labels in iterator for label in labels.tolist()]


@pytest.mark.parametrize("index", [21, -22, 1.0, "1", None])
def test_what_is_listed_and_no_index_fails_as_under_stock(photographs, index):
    def seen(kind):
        batches = iter(kind(photographs, batch_sampler=[[0, 1], [2, index]]))
        first = next(batches)[1].tolist()
        with pytest.raises((IndexError, TypeError)) as caught:
            next(batches)
        return first, caught.type

    assert seen(drapps.torch.DataLoader) == seen(data.DataLoader)


def test_listed_batches_that_differ_in_size_are_no_longer_lifted(photographs):
    listed = [[0, 1], [2, 3], [4]]
    loader = drapps.torch.DataLoader(photographs, batch_sampler=listed)
    assert len(labels_of(loader)) == 5 and loader.lifted()
    listed.append([5, 6])
    assert labels_of(loader) == [0] * 7 and not loader.lifted()


def test_segmentation_lists_that_change_in_place_are_read_again(tmp_path, torchvision, v2):
    home = tmp_path / "VOCdevkit" / "VOC2012"
    for place in ("ImageSets/Segmentation", "JPEGImages", "SegmentationClass"):
        (home / place).mkdir(parents=True)
    (home / "ImageSets/Segmentation/train.txt").write_text("a\nb\nc")
    for level, name in enumerate("abc"):
        pixels = np.full((20, 24), 40 * level, np.uint8)
        Image.fromarray(pixels).convert("RGB").save(home / f"JPEGImages/{name}.jpg")
        Image.fromarray(pixels).save(home / f"SegmentationClass/{name}.png")
    chain = v2.Compose([v2.CenterCrop(16), v2.ToImage()])
    inner = torchvision.datasets.VOCSegmentation(tmp_path, transforms=chain)
    dataset = importlib.import_module("torchvision.datasets").wrap_dataset_for_transforms_v2(inner)
    loader = drapps.torch.DataLoader(dataset, 2)
    assert_as_stock(loader, dataset)
    inner.images[0] = inner.images[2]
    assert_as_stock(loader, dataset)
    inner.masks[1] = inner.masks[2]
    assert_as_stock(loader, dataset)


def test_labels_of_arrays_that_change_in_place_are_read_again(torchvision, v1):
    cifar = torchvision.datasets.CIFAR10.__new__(torchvision.datasets.CIFAR10)
    cifar.data = np.random.default_rng(0).integers(0, 256, (9, 32, 32, 3), np.uint8)
    cifar.targets = list(range(9))
    cifar.transform, cifar.target_transform = v1.ToTensor(), None
    loader = drapps.torch.DataLoader(cifar, 4)
    assert_as_stock(loader, cifar)
    cifar.targets[3] = 99
    assert_as_stock(loader, cifar)
    random.Random(1).shuffle(cifar.targets)
    assert_as_stock(loader, cifar)
    cifar.data[2] = 7
    assert_as_stock(loader, cifar)
    cifar.data = cifar.data[::-1].copy()
    assert_as_stock(loader, cifar)
    cifar.targets[3] = True
    assert "not all of type int" in str(loader.lifted())
