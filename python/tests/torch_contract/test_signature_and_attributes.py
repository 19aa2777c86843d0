"""Signature, and what a loader's attributes hold."""

import inspect

import pytest
import torch
from torch.utils import data
from torch.utils.data import dataloader

import drapps.torch
from python.tests.torch_contract.samples import Counting, Squares, identity, plain

STOCK = list(inspect.signature(data.DataLoader.__init__).parameters.values())
OURS = list(inspect.signature(drapps.torch.DataLoader.__init__).parameters.values())


def test_the_signature_begins_with_that_of_stock():
    for stock, ours in zip(STOCK, OURS, strict=False):
        assert (ours.name, ours.kind, ours.default) == (stock.name, stock.kind, stock.default)


def test_what_is_added_is_keyword_only_and_optional():
    added = OURS[len(STOCK) :]
    assert added
    for parameter in added:
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, parameter.name
        assert parameter.default is not inspect.Parameter.empty, parameter.name


def test_positional_arguments_mean_what_they_mean_in_stock(loader_class):
    generator, sampler = torch.Generator(), data.SequentialSampler(range(10))
    loader = loader_class(
        Squares(), 3, False, sampler, None, 2, identity, False, True, 4, print, "fork", generator
    )
    assert loader.batch_size == 3
    assert loader.sampler is sampler
    assert loader.num_workers == 2
    assert loader.collate_fn is identity
    assert loader.pin_memory is False
    assert loader.drop_last is True
    assert loader.timeout == 4
    assert loader.worker_init_fn is print
    assert loader.multiprocessing_context.get_start_method() == "fork"
    assert loader.generator is generator


def test_every_argument_but_shuffle_is_an_attribute_of_its_name(loader_class):
    loader = loader_class(Squares())
    for cls in type(loader).__mro__:
        if issubclass(cls, data.DataLoader):
            names = inspect.signature(cls.__init__).parameters.values()
            named = [p.name for p in names if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            for name in set(named) - {"self", "shuffle"}:
                assert hasattr(loader, name), name


def test_the_attributes_are_what_was_given(loader_class):
    dataset, generator = Squares(), torch.Generator()
    given = {
        "batch_size": 3,
        "num_workers": 1,
        "collate_fn": identity,
        "pin_memory": True,
        "drop_last": True,
        "timeout": 2.5,
        "worker_init_fn": identity,
        "generator": generator,
        "prefetch_factor": 5,
        "persistent_workers": True,
        "pin_memory_device": "cuda",
        "in_order": False,
    }
    loader = loader_class(dataset, **given)
    assert loader.dataset is dataset
    for name, value in given.items():
        assert getattr(loader, name) is value, name


def test_the_attributes_by_default(loader_class):
    loader = loader_class(Squares())
    expected = {
        "batch_size": 1,
        "num_workers": 0,
        "pin_memory": False,
        "drop_last": False,
        "timeout": 0,
        "worker_init_fn": None,
        "multiprocessing_context": None,
        "generator": None,
        "prefetch_factor": None,
        "persistent_workers": False,
        "pin_memory_device": "",
        "in_order": True,
        "collate_fn": data.default_collate,
        "_iterator": None,
        "_auto_collation": True,
        "_dataset_kind": dataloader._DatasetKind.Map,
    }
    for name, value in expected.items():
        attribute = getattr(loader, name)
        assert attribute == value, name
        assert type(attribute) is type(value), name


def test_two_batches_are_prefetched_per_worker_unless_said_otherwise(loader_class):
    assert loader_class(Squares()).prefetch_factor is None
    assert loader_class(Squares(), num_workers=1).prefetch_factor == 2
    assert loader_class(Squares(), num_workers=1, prefetch_factor=7).prefetch_factor == 7


def test_the_default_samplers(loader_class):
    dataset, generator = Squares(), torch.Generator()
    plain_one = loader_class(dataset)
    assert type(plain_one.sampler) is data.SequentialSampler
    assert plain_one.sampler.data_source is dataset
    assert type(plain_one.batch_sampler) is data.BatchSampler
    assert plain_one.batch_sampler.sampler is plain_one.sampler
    assert plain_one._index_sampler is plain_one.batch_sampler
    shuffled = loader_class(dataset, shuffle=True, generator=generator)
    assert type(shuffled.sampler) is data.RandomSampler
    assert shuffled.sampler.generator is generator
    streaming = loader_class(Counting())
    assert type(streaming.sampler) is dataloader._InfiniteConstantSampler
    assert streaming._dataset_kind == dataloader._DatasetKind.Iterable


def test_a_batch_sampler_takes_the_place_of_the_batch_size(loader_class):
    batches = [[0, 1], [2]]
    loader = loader_class(Squares(), batch_sampler=batches)
    assert loader.batch_sampler is batches
    assert loader._index_sampler is batches
    assert loader.batch_size is None
    assert loader.drop_last is False
    assert loader._auto_collation is True
    assert loader.collate_fn is data.default_collate


def test_no_batch_size_switches_collation_off(loader_class):
    loader = loader_class(Squares(), batch_size=None)
    assert loader.batch_size is None
    assert loader.batch_sampler is None
    assert loader._auto_collation is False
    assert loader._index_sampler is loader.sampler
    assert loader.collate_fn is dataloader._utils.collate.default_convert


@pytest.mark.parametrize(
    "name",
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"],
)
def test_six_attributes_are_fixed(loader_class, name):
    loader = loader_class(Squares())
    before = getattr(loader, name)
    text = f"^{name} attribute should not be set after {loader_class.__name__} is initialized$"
    with pytest.raises(ValueError, match=text):
        setattr(loader, name, before)
    assert getattr(loader, name) is before


def test_all_others_may_be_set_and_count_from_the_next_iterator_on(loader_class):
    loader = loader_class(Squares(4), 2)
    assert plain(loader) == [[0, 1], [4, 9]]
    loader.collate_fn = sum
    assert list(loader) == [1, 13]
    loader.num_workers, loader.prefetch_factor = 1, 2
    assert list(loader) == [1, 13]
    loader.anything = "else"
    assert loader.anything == "else"


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_a_start_method_becomes_its_context(loader_class, context):
    loader = loader_class(Squares(), num_workers=1, multiprocessing_context=context)
    assert loader.multiprocessing_context is torch.multiprocessing.get_context(context)
    loader.multiprocessing_context = None
    assert loader.multiprocessing_context is None
