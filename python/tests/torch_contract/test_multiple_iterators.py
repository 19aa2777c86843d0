"""Several iterators of one loader, and several loaders, at once."""

import pytest
import torch

from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import Calls, Counting, Squares, drawn, flat, plain

workers = pytest.mark.parametrize("workers", [0, 2])


@workers
def test_iter_gives_a_fresh_iterator_that_is_its_own(loader_class, workers):
    loader = loader_class(Squares(), 2, num_workers=workers)
    one, two = iter(loader), iter(loader)
    assert one is not two
    assert one is not loader
    assert iter(one) is one
    assert len(one) == len(loader)
    assert loader._iterator is None


@each_order
@workers
def test_they_do_not_disturb_each_other(loader_class, workers):
    loader = loader_class(Squares(8), 2, num_workers=workers)
    one, two = iter(loader), iter(loader)
    assert next(one).tolist() == [0, 1]
    assert next(one).tolist() == [4, 9]
    assert next(two).tolist() == [0, 1]
    assert plain(one) == [[16, 25], [36, 49]]
    assert plain(two) == [[4, 9], [16, 25], [36, 49]]


@workers
def test_nested_loops_over_one_loader(loader_class, workers):
    loader = loader_class(Squares(3), num_workers=workers)
    pairs = [(int(a), int(b)) for a in loader for b in loader]
    assert pairs == [(a * a, b * b) for a in range(3) for b in range(3)]


@workers
def test_each_is_shuffled_by_itself(loader_class, workers):
    torch.manual_seed(4)
    loader = loader_class(Squares(30), 3, shuffle=True, num_workers=workers)
    pairs = list(zip(loader, loader, strict=True))
    one, two = (flat(pair[side] for pair in pairs) for side in (0, 1))
    assert sorted(one) == sorted(two) == [n * n for n in range(30)]
    assert one != two


@each_order
@workers
def test_each_draws_its_own_numbers(loader_class, workers):
    torch.manual_seed(4)
    loader = loader_class(Calls(drawn), 10, num_workers=workers)
    one, two = next(iter(loader)), next(iter(loader))
    assert torch.equal(one[:, 0], two[:, 0])
    assert not torch.equal(one[:, 1], two[:, 1])


@workers
def test_loaders_of_several_kinds_run_at_once(loader_class, workers):
    loaders = [
        loader_class(Squares(6), 2, num_workers=workers),
        loader_class(Counting(6), 2, num_workers=min(workers, 1)),
        loader_class(Squares(6), 2),
    ]
    for one, two, three in zip(*loaders, strict=True):
        assert one.tolist() == three.tolist() == [n * n for n in two.tolist()]


@workers
def test_leaving_one_does_not_end_another(loader_class, workers):
    loader = loader_class(Squares(8), 2, num_workers=workers)
    kept = iter(loader)
    next(kept)
    for batch in loader:
        assert batch.tolist() == [0, 1]
        break
    assert plain(kept) == [[4, 9], [16, 25], [36, 49]]


@workers
def test_a_loader_may_be_made_and_dropped_while_another_runs(loader_class, workers):
    iterator = iter(loader_class(Squares(8), 2, num_workers=workers))
    for expected in ([0, 1], [4, 9], [16, 25], [36, 49]):
        assert len(list(loader_class(Squares(2), num_workers=workers))) == 2
        assert next(iterator).tolist() == expected
