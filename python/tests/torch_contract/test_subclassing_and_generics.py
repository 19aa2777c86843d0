"""Being a real DataLoader: subclasses, type arguments, and what trainers do with one."""

import collections.abc
import inspect
import typing

import pytest
import torch
from torch.utils import data

from python.tests.torch_contract.samples import Squares, flat, plain


def test_it_is_a_dataloader(loader_class):
    loader = loader_class(Squares())
    assert isinstance(loader, data.DataLoader)
    assert isinstance(loader, torch.utils.data.dataloader.DataLoader)
    assert isinstance(loader, collections.abc.Iterable)
    assert isinstance(loader, collections.abc.Sized)
    assert not isinstance(loader, collections.abc.Iterator)


def test_it_takes_a_type_argument(loader_class):
    if issubclass(loader_class, data.DataLoader) and not loader_class.__parameters__:
        loader_class = loader_class.__mro__[1]
    assert typing.get_origin(loader_class[int]) is loader_class
    assert typing.get_args(loader_class[int]) == (int,)
    assert plain(loader_class[int](Squares(2), 2)) == [[0, 1]]

    class Typed(loader_class[torch.Tensor]):
        pass

    assert plain(Typed(Squares(2), 2)) == [[0, 1]]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_overridden_iter_wraps_that_of_the_class(loader_class, workers):
    class Doubled(loader_class):
        def __init__(self, dataset, times, **arguments):
            self.times = times
            super().__init__(dataset, **arguments)

        def __iter__(self):
            for batch in super().__iter__():
                yield batch * self.times

        def __len__(self):
            return super().__len__() * 100

    loader = Doubled(Squares(4), 3, batch_size=2, num_workers=workers)
    assert plain(loader) == [[0, 3], [12, 27]]
    assert len(loader) == 200


def test_an_overridden_get_iterator_is_asked(loader_class):
    class Own(loader_class):
        def _get_iterator(self):
            return iter([torch.tensor([1])])

    assert plain(Own(Squares())) == [[1]]


def test_immutability_names_the_subclass(loader_class):
    class Mine(loader_class):
        pass

    loader = Mine(Squares())
    with pytest.raises(ValueError, match="should not be set after Mine is initialized"):
        loader.batch_size = 3


def constructor(loader):
    """Arguments by which a trainer makes the loader again: attributes named as parameters."""
    names = set()
    for cls in type(loader).__mro__:
        if issubclass(cls, data.DataLoader):
            for parameter in inspect.signature(cls.__init__).parameters.values():
                if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    names.add(parameter.name)
    return {name: value for name, value in vars(loader).items() if name in names}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_trainer_makes_it_again_with_another_sampler(loader_class, workers):
    loader = loader_class(
        Squares(10), 2, shuffle=True, num_workers=workers, collate_fn=sum, drop_last=True
    )
    arguments = constructor(loader)
    arguments["sampler"] = data.DistributedSampler(Squares(10), 2, 1, shuffle=False)
    arguments.pop("batch_sampler", None)
    again = type(loader)(**arguments)
    assert list(again) == [1 + 9, 25 + 49]


def test_a_trainer_makes_it_again_with_another_batch_sampler(loader_class):
    loader = loader_class(Squares(10), batch_size=4)
    arguments = constructor(loader)
    for name in ("batch_size", "shuffle", "sampler", "drop_last"):
        arguments.pop(name, None)
    arguments["batch_sampler"] = type(loader.batch_sampler)(loader.sampler, 5, drop_last=False)
    assert plain(type(loader)(**arguments)) == [[0, 1, 4, 9, 16], [25, 36, 49, 64, 81]]


def test_one_batch_ahead_knows_the_end(loader_class):
    for workers in (0, 1):
        iterator = iter(loader_class(Squares(5), 2, num_workers=workers))
        ahead, batches = next(iterator), []
        for following in iterator:
            batches.append(ahead.tolist())
            ahead = following
        assert batches == [[0, 1], [4, 9]]
        assert ahead.tolist() == [16]


def test_attributes_that_a_subclass_sets_early_are_kept(loader_class):
    class Early(loader_class):
        def __init__(self, *arguments):
            self.batch_size_of_old = 7
            super().__init__(*arguments)
            self.later = 8

    loader = Early(Squares(3), 3)
    assert (loader.batch_size_of_old, loader.later) == (7, 8)
    assert flat(loader) == [0, 1, 4]


def test_an_overridden_index_sampler_is_obeyed(loader_class):
    class Auto(loader_class):
        @property
        def _auto_collation(self):
            return False

        @property
        def _index_sampler(self):
            return [3, 1]

    assert list(Auto(Squares(), collate_fn=str)) == ["9", "1"]
