"""Batches change their size between passes, and amid one through a state."""

import warnings

import numpy
import pytest

import drapps

torch = pytest.importorskip("torch")

from torch.utils.data import Dataset, TensorDataset  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402


class Squares(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return index * index


def native(size, **options):
    rows = numpy.arange(24, dtype=numpy.float32).reshape(12, 2)
    return drapps.arrays({"x": rows}).shuffle(seed=3).batch(size, **options)


def rows_of(loader):
    return [batch["x"].tolist() for batch in loader.numpy()]


def flat(batches):
    return [row for batch in batches for row in batch]


def test_a_pipeline_goes_on_with_another_size():
    loader, other = native(4), native(6)
    assert rows_of(loader) == rows_of(native(4))
    next(iter(other))
    loader.set_batch_size(6)
    assert len(loader) == 2
    assert loader.layout.batch_size == 6
    assert rows_of(loader) == rows_of(other)  # the second epoch of both


def test_a_pass_under_way_goes_on_and_its_state_takes_the_new_size():
    loader = native(2)
    passing = iter(loader)
    first = [next(passing).numpy()["x"].tolist() for _ in range(2)]
    loader.set_batch_size(4)
    here = loader.state_dict()
    rest = [batch.numpy()["x"].tolist() for batch in passing]
    assert flat(first + rest) == flat(rows_of(native(3)))
    loader.load_state_dict(here)
    resumed = rows_of(loader)
    assert [len(batch) for batch in resumed] == [4, 4]
    assert flat(resumed) == flat(rest)


def test_knobs_policy_and_freezing_stay():
    loader = native(4, policy={"name": "static", "parameters": {"prefetch_depth": 3}})
    loader.freeze()
    knobs = loader.export_settings()["knobs"]
    policy = loader.policy
    loader.set_batch_size(3)
    assert loader.export_settings()["knobs"] == knobs
    assert loader.policy == policy
    rows_of(loader)
    assert loader.explain().decisions.status == "frozen"


@pytest.mark.parametrize("size", [0, -1, 1.5, "4", True, 2**31])
def test_what_is_no_size_is_refused(size):
    loader = native(4)
    with pytest.raises(drapps.PipelineError, match="size="):
        loader.set_batch_size(size)
    assert len(loader) == 3
    if size != 2**31:
        with pytest.raises(drapps.PipelineError, match="size="):
            DataLoader(Squares(), 4).set_batch_size(size)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_torch_loader_goes_on_with_another_size(workers):
    loader = DataLoader(Squares(), 4, num_workers=workers)
    assert [len(batch) for batch in loader] == [4, 4, 4]
    loader.set_batch_size(5)
    assert [batch.tolist() for batch in loader] == [
        batch.tolist() for batch in DataLoader(Squares(), 5)
    ]
    assert (len(loader), loader.batch_size, loader.batch_sampler.batch_size) == (3, 5, 5)


def test_a_lifted_loader_goes_on_with_another_size():
    loader = DataLoader(TensorDataset(torch.arange(12)), 4)
    assert loader.lifted().native
    list(loader)
    loader.set_batch_size(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [batch[0].tolist() for batch in loader] == [
            [0, 1, 2, 3, 4],
            [5, 6, 7, 8, 9],
            [10, 11],
        ]


def test_a_loader_that_makes_no_batches_itself_says_so():
    with pytest.raises(drapps.PipelineError, match="no batch size"):
        DataLoader(Squares(), batch_sampler=[[0, 1], [2]]).set_batch_size(2)
    with pytest.raises(drapps.PipelineError, match="no batch size"):
        DataLoader(Squares(), batch_size=None).set_batch_size(2)


def test_persistent_workers_say_so_once_they_have_begun():
    loader = DataLoader(Squares(), 4, num_workers=1, persistent_workers=True)
    loader.set_batch_size(6)
    assert [len(batch) for batch in loader] == [6, 6]
    with pytest.raises(drapps.PipelineError, match="persistent workers"):
        loader.set_batch_size(3)
