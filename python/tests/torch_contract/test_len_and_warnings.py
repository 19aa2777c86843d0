"""Lengths, and what stock warns about."""

import warnings

import pytest
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.samples import Calls, Sharded, Sized, Squares, identity


@pytest.mark.parametrize("size", some_full([0, 1, 9, 10, 11], 0, 10, 11))
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("workers", [0, 1])
def test_as_many_batches_come_as_len_says(loader_class, size, drop_last, workers):
    loader = loader_class(Squares(size), 5, drop_last=drop_last, num_workers=workers)
    expected = size // 5 if drop_last else -(-size // 5)
    assert len(loader) == len(iter(loader)) == len(list(loader)) == expected


def test_len_is_that_of_the_batches_or_samples_given(loader_class):
    assert len(loader_class(Squares(), batch_sampler=[[1], [2, 3]])) == 2
    assert len(loader_class(Squares(), sampler=[1, 2, 3], batch_size=2)) == 2
    assert len(loader_class(Squares(), sampler=[1, 2, 3], batch_size=None)) == 3
    assert len(loader_class(Squares(), batch_size=None)) == 10


def test_len_follows_a_dataset_that_grows(loader_class):
    samples = [1, 2, 3]
    plain, shuffled = loader_class(samples), loader_class(samples, shuffle=True)
    samples.append(4)
    assert len(plain) == len(shuffled) == 4
    assert len(list(plain)) == len(list(shuffled)) == 4


def test_len_of_a_stream_is_rounded_as_the_batches_are(loader_class):
    assert len(loader_class(Sized(10), 3)) == 4
    assert len(loader_class(Sized(10), 3, drop_last=True)) == 3
    assert len(loader_class(Sized(10), batch_size=None)) == 10
    with pytest.raises(TypeError, match="has no len"):
        len(loader_class(Sharded(10)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_longer_than_its_len_is_warned_about_once_len_was_asked(loader_class, workers):
    class Liar(Sized):
        def __len__(self):
            return 3

    loader = loader_class(Liar(4), num_workers=workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        loader.check_worker_number_rationality = lambda: None
        assert len(list(loader)) == 4 * workers
    assert len(loader) == 3
    iterator = iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for _ in range(3):
            next(iterator)
    text = r"was reported to be 3\(when accessing len\(dataloader\)\), but 4 samples have been fetc"
    with pytest.warns(UserWarning, match=f"Length of IterableDataset .*{text}"):
        next(iterator)


def test_the_warning_of_a_stream_without_workers(loader_class):
    class Liar(Sized):
        def __len__(self):
            return 1

    loader = loader_class(Liar(2))
    len(loader)
    with pytest.warns(UserWarning, match=r"but 2 samples have been fetched\. $"):
        list(loader)


def test_more_workers_than_cores_are_warned_about(loader_class):
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in to"):
        loader_class(Squares(), num_workers=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader_class(Squares(), num_workers=1)
        loader_class(Squares(), num_workers=0)


def test_nothing_else_is_warned_about(loader_class):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for workers in (0, 1):
            loader = loader_class(Calls(identity), 2, shuffle=True, num_workers=workers)
            assert len(list(loader)) == 5
            assert len(list(loader_class(Sized(10), 2, num_workers=workers))) == 5


def test_the_wrapper_of_batches_and_the_sampler_see_the_same_length(loader_class):
    loader = loader_class(Squares(11), 4, sampler=data.SubsetRandomSampler(range(9)))
    assert len(loader) == len(loader.batch_sampler) == 3
    assert len(loader.sampler) == 9
