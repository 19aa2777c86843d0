"""What a batch is made of: containers, dtypes and memory survive the way from a worker."""

from collections import OrderedDict, UserString
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from python.tests.torch_contract.samples import Calls, Pair, identity

workers = pytest.mark.parametrize("workers", [0, 1])


class OwnList(list):
    pass


class OwnDict(dict):
    pass


class OwnTensor(torch.Tensor):
    pass


@dataclass
class Record:
    """A batch of the user's own class."""

    images: torch.Tensor
    names: list


VIEW = torch.arange(24).reshape(4, 6)
PASSED = {
    "none": None,
    "text": "text",
    "bytes": b"\0bytes",
    "number": 10**30,
    "set": {1, 2},
    "own text": UserString("own"),
    "record": Record(torch.ones(2), ["a"]),
    "class": Record,
    "nothing": torch.zeros(0, 3),
    "scalar": torch.tensor(3),
    "bool": torch.tensor([True, False]),
    "bfloat16": torch.arange(5, dtype=torch.bfloat16),
    "half": torch.arange(5, dtype=torch.float16),
    "complex": torch.tensor([1 + 2j]),
    "sparse": torch.eye(4).to_sparse(),
    "large": torch.arange(300_000),
    "view": VIEW[1:3, ::2],
    "transposed": VIEW.T,
    "expanded": torch.tensor([1, 2]).expand(3, 2),
    "array": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "array of nothing": np.zeros((0, 2), np.int16),
    "array scalar": np.float16(1.5),
    "text array": np.array(["a", "bc"]),
    "object array": np.array([1, "two", None], dtype=object),
    "structured": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "date": np.datetime64("2024-02-29"),
    "large array": np.arange(300_000),
    "nested": {"a": [1, (torch.ones(1), {"b": np.ones(2)})], "c": Pair(1, "x")},
    "own list": OwnList([1]),
    "own dict": OwnDict(a=1),
    "ordered": OrderedDict(b=1, a=2),
    "own tensor": torch.ones(2).as_subclass(OwnTensor),
    "parameter": torch.nn.Parameter(torch.ones(2)),
    "leaf": torch.ones(2, requires_grad=True),
    "packed": torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(1)]),
}


def same(one, other):
    """Equal in types and values, all the way down."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert (one.dtype, one.shape, one.layout) == (other.dtype, other.shape, other.layout)
        assert one.requires_grad == other.requires_grad
        if one.layout is torch.strided:
            assert one.stride() == other.stride()
        assert torch.equal(one.to_dense(), other.to_dense())
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.strides == other.strides or one.size == 0
        assert one.flags.writeable
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            same(mine, theirs)
    elif isinstance(one, Record):
        same(vars(one), vars(other))
    else:
        assert one == other


@workers
def test_whatever_collate_returns_arrives_as_it_was(loader_class, workers):
    names = list(PASSED)
    loader = loader_class(names, 1, collate_fn=passed, num_workers=workers)
    changed = {name: change(batch, PASSED[name]) for name, batch in zip(names, loader, strict=True)}
    assert {name: text for name, text in changed.items() if text} == {}


def change(value, expected):
    """How they differ, as text."""
    try:
        same(value, expected)
    except AssertionError as error:
        return str(error) or "differs"
    return ""


def passed(names):
    return PASSED[names[0]]


def mixed(index):
    return {
        "int": index,
        "float": index / 2,
        "bool": index > 1,
        "text": str(index),
        "bytes": b"b",
        "tensor": torch.full((2,), index),
        "array": np.full((2,), index, np.float32),
        "scalar": np.int16(index),
        "pair": Pair(index, [index, str(index)]),
        "own": OwnDict(a=OwnList([index])),
    }


@workers
def test_default_collate_stacks_and_keeps_the_containers(loader_class, workers):
    batch = next(iter(loader_class(Calls(mixed, 3), 3, num_workers=workers)))
    expected = {
        "int": torch.tensor([0, 1, 2]),
        "float": torch.tensor([0, 0.5, 1], dtype=torch.float64),
        "bool": torch.tensor([False, False, True]),
        "text": ["0", "1", "2"],
        "bytes": [b"b"] * 3,
        "tensor": torch.tensor([[0, 0], [1, 1], [2, 2]]),
        "array": torch.tensor([[0.0, 0], [1, 1], [2, 2]]),
        "scalar": torch.tensor([0, 1, 2], dtype=torch.int16),
        "pair": Pair(torch.tensor([0, 1, 2]), [torch.tensor([0, 1, 2]), ("0", "1", "2")]),
        "own": OwnDict(a=OwnList([torch.tensor([0, 1, 2])])),
    }
    same(batch, expected)


def twice(samples):
    tensor = torch.tensor(samples)
    return [tensor, tensor, tensor[1:]]


@workers
def test_an_object_that_comes_twice_is_one_object(loader_class, workers):
    one, two, part = next(iter(loader_class(range(4), 4, collate_fn=twice, num_workers=workers)))
    assert one is two
    part.fill_(9)
    assert one.tolist() == [0, 9, 9, 9]


@workers
def test_collate_gets_the_samples_as_a_list_in_order(loader_class, workers):
    loader = loader_class(Calls(str), 4, collate_fn=repr, num_workers=workers)
    assert list(loader)[:2] == ["['0', '1', '2', '3']", "['4', '5', '6', '7']"]


@workers
def test_a_batch_is_the_users_to_keep_and_to_write(loader_class, workers):
    loader = loader_class(Calls(pixels, 50), 2, num_workers=workers)
    kept = []
    for number, batch in enumerate(loader):
        assert batch.tolist() == [[2 * number] * 3000, [2 * number + 1] * 3000]
        batch.fill_(-number)
        kept.append(batch)
    assert len({batch.data_ptr() for batch in kept}) == 25
    for number, batch in enumerate(kept):
        assert torch.all(batch == -number)


def pixels(index):
    return torch.full((3000,), index)


@workers
def test_batches_outlive_their_loader(loader_class, workers):
    loader = loader_class(Calls(pixels, 4), 2, num_workers=workers)
    batches = list(loader)
    del loader
    assert [int(batch.sum()) for batch in batches] == [3000, 15000]


@workers
def test_writing_to_a_batch_leaves_the_dataset_alone(loader_class, workers):
    samples = torch.arange(6)
    for batch in loader_class(samples, 2, num_workers=workers):
        batch.zero_()
    assert samples.tolist() == list(range(6))


@workers
def test_a_batch_of_nothing_but_nones_is_possible(loader_class, workers):
    loader = loader_class([None] * 3, 2, collate_fn=identity, num_workers=workers)
    assert list(loader) == [[None, None], [None]]


class ReadOnly(torch.utils.data.Dataset):
    """Arrays that may not be written to, as ``np.asarray`` of a picture is."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        arrays = {
            "small": np.full((2, 3), index),
            "large": np.full((40, 50), index, np.float32),
            "fortran": np.asfortranarray(np.arange(2000).reshape(40, 50) + index),
            "records": np.full(3, index, [("number", "i4"), ("value", "f8")]),
            "times": np.full(900, index, "M8[s]"),
            "repeated": np.broadcast_to(np.arange(3), (4, 3)),
        }
        for array in arrays.values():
            array.flags.writeable = False
        return {**arrays, "again": arrays["large"]}


def test_arrays_that_come_out_of_workers_may_be_written_to(loader_class):
    loader = loader_class(ReadOnly(), batch_size=2, num_workers=2, collate_fn=list)
    samples = [sample for batch in loader for sample in batch]
    for sample, wanted in zip(samples, map(ReadOnly().__getitem__, range(4)), strict=True):
        assert sample["again"] is sample["large"]
        for name, array in sample.items():
            assert array.flags.writeable, name
            assert array.dtype == wanted[name].dtype
            np.testing.assert_array_equal(array, wanted[name])
            array[...] = array[::-1].copy()
