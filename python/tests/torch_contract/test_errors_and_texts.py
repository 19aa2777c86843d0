"""Wrong use: the type and the words of stock, at the same place."""

import pickle

import pytest
import torch
from torch.utils import data

from python.tests.torch_contract.samples import Counting, Squares, plain

BATCHES = data.BatchSampler(data.SequentialSampler(range(10)), 3, drop_last=False)

AT_CONSTRUCTION = [
    ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified"),
    ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "should be non-negative"),
    ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables"),
    ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value"),
    ({"batch_size": -2}, ValueError, "batch_size should be a positive integer value"),
    ({"batch_size": 1.5}, ValueError, "batch_size should be a positive integer value"),
    ({"batch_size": True}, ValueError, "batch_size should be a positive integer value"),
    ({"batch_size": "2"}, ValueError, "batch_size should be a positive integer value"),
    ({"drop_last": 3}, ValueError, "drop_last should be a boolean value"),
    ({"sampler": [0], "shuffle": True}, ValueError, "sampler option is mutually exclusive with sh"),
    ({"batch_sampler": BATCHES, "batch_size": 2}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": BATCHES, "shuffle": True}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": BATCHES, "sampler": [0]}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": BATCHES, "drop_last": True}, ValueError, "batch_sampler option is mutually"),
    ({"multiprocessing_context": "fork"}, ValueError, "multi-process loading .num_workers > 0"),
    ({"multiprocessing_context": "bad", "num_workers": 1}, ValueError, "valid start method in"),
    ({"multiprocessing_context": 5, "num_workers": 1}, TypeError, "should be a valid context"),
    ({"shuffle": True, "generator": 5}, TypeError, "Generator|random_"),
    ({"unheard_of": 1}, TypeError, "unexpected keyword argument 'unheard_of'"),
    # several at once: the first check of stock speaks
    ({"num_workers": -1, "timeout": -1, "batch_size": 0}, ValueError, "num_workers option"),
    ({"batch_sampler": BATCHES, "sampler": [0], "shuffle": True}, ValueError, "sampler option is"),
]
STREAMS = [
    ({"shuffle": True}, ValueError, "expected unspecified shuffle option, but got shuffle=True"),
    ({"shuffle": 3}, ValueError, "expected unspecified shuffle option, but got shuffle=3"),
    ({"sampler": [1]}, ValueError, r"expected unspecified sampler option, but got sampler=\[1\]"),
    ({"batch_sampler": [[1]]}, ValueError, "expected unspecified batch_sampler option, but got"),
]


def failure(loader_class, dataset, arguments):
    with pytest.raises((ValueError, TypeError)) as caught:
        # an unusable generator is noticed when the order is drawn
        next(iter(loader_class(dataset, **arguments)))
    return type(caught.value), str(caught.value).replace(loader_class.__qualname__, "DataLoader")


@pytest.mark.parametrize(("arguments", "kind", "text"), AT_CONSTRUCTION)
def test_wrong_arguments(loader_class, arguments, kind, text):
    with pytest.raises(kind, match=text):
        next(iter(loader_class(Squares(), **arguments)))
    assert failure(loader_class, Squares(), arguments) == failure(
        data.DataLoader, Squares(), arguments
    )


@pytest.mark.parametrize(("arguments", "kind", "text"), STREAMS)
def test_a_stream_takes_no_sampler(loader_class, arguments, kind, text):
    with pytest.raises(kind, match=f"^DataLoader with IterableDataset: {text}"):
        loader_class(Counting(), **arguments)


def test_shuffle_false_is_allowed_for_a_stream(loader_class):
    assert plain(loader_class(Counting(4), 2, shuffle=False)) == [[0, 1], [2, 3]]


def test_a_timeout_without_workers_is_refused_when_it_begins(loader_class):
    loader = loader_class(Squares(), timeout=1)
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(loader)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of stock
def test_no_prefetching_is_refused_when_workers_begin(loader_class):
    loader = loader_class(Squares(), num_workers=1, prefetch_factor=0)
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(loader)


def test_a_dataset_without_length_has_none_and_cannot_be_shuffled(loader_class):
    class Endless:
        def __getitem__(self, index):
            return index

    with pytest.raises(TypeError, match="has no len"):
        loader_class(Endless(), shuffle=True)
    with pytest.raises(TypeError, match="has no len"):
        len(loader_class(Endless()))
    with pytest.raises(TypeError, match="has no len"):
        len(loader_class(Counting()))


def test_an_empty_dataset_is_empty(loader_class):
    for workers in (0, 1):
        assert list(loader_class([], num_workers=workers)) == []
        assert list(loader_class(Counting(0), num_workers=workers)) == []


def test_an_empty_dataset_cannot_be_shuffled(loader_class):
    with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
        loader_class([], shuffle=True)


def test_a_missing_sample_is_the_datasets_error(loader_class):
    with pytest.raises(IndexError, match="list index out of range"):
        list(loader_class([1, 2], sampler=[0, 5]))
    with pytest.raises(NotImplementedError):
        list(loader_class(data.Dataset(), sampler=[0]))


def test_an_iterator_cannot_be_pickled(loader_class):
    for workers in (0, 1):
        with pytest.raises(NotImplementedError, match="cannot be pickled"):
            pickle.dumps(iter(loader_class(Squares(), num_workers=workers)))


def test_samples_that_do_not_stack_are_refused_in_the_words_of_collate(loader_class):
    ragged = [torch.zeros(2), torch.zeros(3)]
    for workers in (0, 1):
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            list(loader_class(ragged, 2, num_workers=workers))
        with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
            list(loader_class([object(), object()], 2, num_workers=workers))
