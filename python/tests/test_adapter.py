"""What fronts of frameworks are written against."""

import dataclasses

import pytest
from torch.utils.data import Dataset

import drapps
import drapps.torch
from drapps.adapter import BatchIterator, ColumnLoader, Layout, SteeredLoader

COUNT = 22


@pytest.fixture
def pipeline(photos):
    paths = sorted(photos.rglob("*.jpg"))
    some = [paths[i % len(paths)] for i in range(COUNT)]
    return drapps.images(some, labels=range(COUNT)).random_resized_crop(16)


class Numbers(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index


def test_a_loader_is_one(pipeline):
    loader = pipeline.batch(4)
    assert isinstance(loader, ColumnLoader)
    assert isinstance(iter(loader), BatchIterator)
    assert isinstance(loader.iterate(0), BatchIterator)


def test_a_torch_loader_can_be_steered():
    loader = drapps.torch.DataLoader(Numbers())
    assert isinstance(loader, SteeredLoader)
    assert not isinstance(loader, ColumnLoader)


def test_the_layout_says_what_batches_hold(pipeline):
    pipeline = pipeline.to("uint8", "nhwc").on_error("replace").shard(1, 2, "pad")
    layout = pipeline.batch(4).layout
    columns = {column.name: (column.dtype, column.row_shape) for column in layout.columns}
    assert columns["image"] == ("uint8", [16, 16, 3])
    assert columns["label"] == ("int64", [])
    assert dataclasses.replace(layout, columns=()) == Layout(
        columns=(),
        batch_size=4,
        rank=1,
        world=2,
        remainder="pad",
        on_error="replace",
        dataset_size=COUNT,
        classes=(),
    )
    assert layout.global_batch == 8


@pytest.mark.parametrize("remainder", ["even", "pad", "drop"])
@pytest.mark.parametrize("position", [0, 6, 8])
def test_what_is_left_over_is_what_the_last_batches_hold(pipeline, remainder, position):
    rows = 0
    for rank in range(2):
        loader = pipeline.shard(rank, 2, remainder).batch(4)
        last = list(loader.iterate(0, position))[-1].rows
        rows += last
    left = loader.layout.left_over(position)
    assert left == (rows if rows < 8 else 0)


def test_columns_are_chosen_by_name(pipeline):
    layout = pipeline.batch(4).layout
    assert [column.name for column in layout.select(["label", "image"])] == ["label", "image"]
    with pytest.raises(drapps.PipelineError, match="no column 'mask'; they have image, label"):
        layout.select(["image", "mask"])
    for nothing in ("image", []):
        with pytest.raises(drapps.PipelineError, match="must be names"):
            layout.select(nothing)


def test_a_pass_from_anywhere_changes_nothing_of_the_loader(pipeline):
    loader = pipeline.shuffle(3).batch(4)
    whole = [batch.numpy()["index"].tolist() for batch in loader]
    before = loader.state_dict()
    rest = loader.iterate(0, 8)
    assert (len(rest), rest.place, loader.steps(0, 8)) == (4, (0, 8), 4)
    assert [batch.numpy()["index"].tolist() for batch in rest] == whole[2:]
    assert rest.place == (1, 0)
    assert loader.epochs.upcoming == (1, 0)
    assert loader.state_dict() == before
    assert rest.bad_samples() == []


def test_epochs_are_counted_by_hand(pipeline):
    loader = pipeline.shuffle(3).batch(4)
    place = loader.epochs.take()
    by_hand = [batch.numpy()["index"].tolist() for batch in loader.iterate(*place)]
    assert (place, loader.epochs.upcoming) == ((0, 0), (1, 0))
    loader.set_epoch(0)
    assert [batch.numpy()["index"].tolist() for batch in loader] == by_hand
