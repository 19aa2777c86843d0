"""What the user's code raises, and what happens when a worker dies."""

import contextlib
import gc
import os
import re
import sys

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.forks import in_child
from python.tests.torch_contract.samples import Calls, Counting, Squares, die, plain

workers = pytest.mark.parametrize("workers", some_full([0, 1, 2], 0, 2))


def outcomes(iterator, number):
    """What `number` calls of next gave: batches, or the names of what was raised."""
    return [outcome(iterator) for _ in range(number)]


def outcome(iterator):
    """The next batch, or the name of what was raised."""
    try:
        return next(iterator).tolist()
    except Exception as error:
        return type(error).__name__


@each_order
@workers
def test_an_error_does_not_end_the_iteration(loader_class, workers):
    loader = loader_class(Squares(8, broken=(2, 5)), 2, num_workers=workers)
    expected = [[0, 1], "ValueError", "ValueError", [36, 49], "StopIteration"]
    assert outcomes(iter(loader), 5) == expected


@workers
def test_every_sample_may_be_broken(loader_class, workers):
    loader = loader_class(Squares(9, broken=range(9)), 2, num_workers=workers)
    assert outcomes(iter(loader), 6) == ["ValueError"] * 5 + ["StopIteration"]


def test_the_text_has_the_workers_traceback(loader_class):
    iterator = iter(loader_class(Squares(4, broken=(1,)), 1, num_workers=2))
    next(iterator)
    with pytest.raises(ValueError, match="sample 1 is broken") as caught:
        next(iterator)
    assert plain(iterator) == [[4], [9]]
    lines = str(caught.value).splitlines()
    assert lines[0] == "Caught ValueError in DataLoader worker process 1."
    assert lines[1] == "Original Traceback (most recent call last):"
    assert re.search(r'samples\.py", line \d+, in __getitem__', str(caught.value))
    assert "ValueError: sample 1 is broken" in lines


def test_without_workers_it_is_the_very_exception(loader_class):
    error = ValueError("mine")

    def fail(_):
        raise error

    with pytest.raises(ValueError, match=r"^mine$") as caught:
        list(loader_class(Calls(fail)))
    assert caught.value is error


class NeedyError(Exception):
    """Cannot be made from one string."""

    def __init__(self, code, path):
        super().__init__(code, path)


class UnpicklableError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.file = sys.stderr

    def __reduce__(self):
        raise TypeError("not this one")


def raises(kind, *arguments):
    def fail(index):
        if index == 1:
            raise kind(*arguments)
        return index

    return fail


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (raises(KeyError, "a key"), KeyError),
        (raises(NeedyError, 3, "a path"), RuntimeError),
        (raises(UnpicklableError, "a text"), UnpicklableError),
        (raises(OSError, 2, "a file"), OSError),
        (raises(type("Local", (Exception,), {}), "a class"), Exception),
        (raises(AssertionError), AssertionError),
        (raises(StopIteration, "early"), StopIteration),
        (raises(UnicodeDecodeError, "utf-8", b"\xff", 0, 1, "bad"), RuntimeError),
    ],
    ids=["key", "needy", "unpicklable", "os", "local", "assert", "stop", "unicode"],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exceptions_of_any_class_arrive_and_the_rest_follows(loader_class, function, kind):
    if loader_class is data.DataLoader and function(0) == 0 and kind is Exception:
        pytest.skip("stock waits for ever for an exception of a class that cannot be imported")
    loader = loader_class(
        Calls(function, 4), batch_size=None, num_workers=1, multiprocessing_context="fork"
    )
    iterator = iter(loader)
    assert next(iterator) == 0
    with pytest.raises(kind) as caught:
        next(iterator)
    assert "in DataLoader worker process 0" in str(caught.value)
    assert list(iterator) == [2, 3]


def clumsy(samples):
    raise TypeError(f"cannot collate {samples}")


@workers
def test_an_error_of_collate_is_no_end_either(loader_class, workers):
    iterator = iter(loader_class(Squares(4), 2, collate_fn=clumsy, num_workers=workers))
    for batch in ([0, 1], [4, 9]):
        with pytest.raises(TypeError, match=re.escape(f"cannot collate {batch}")):
            next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


@workers
def test_a_finished_iterator_stays_finished(loader_class, workers):
    for dataset in (Squares(2), Counting(2)):
        iterator = iter(loader_class(dataset, num_workers=workers))
        list(iterator)
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(iterator)


def death(loader_class, function, number):
    """What a loader raised whose worker died, and what another one gave after that."""
    iterator = iter(loader_class(Calls(function), batch_size=None, num_workers=number))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid") as caught:
        list(iterator)
    text = str(caught.value)
    del iterator
    with contextlib.suppress(RuntimeError):  # stock may notice a second death
        del caught
        gc.collect()
    return text, plain(loader_class(Squares(2), 2, num_workers=1))


@each_order
@pytest.mark.parametrize("number", some_full([1, 2], 2))
def test_a_killed_worker_is_an_error_that_names_it(loader_class, number):
    text, following = in_child(death, loader_class, die, number)
    assert re.search(r"killed by signal|exited unexpectedly", text)
    assert following == [[0, 1]]


def what_follows_death(loader_class, function):
    """What an iterator gives once the death of its only worker was raised."""
    iterator = iter(loader_class(Calls(function), batch_size=None, num_workers=1))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid"):
        list(iterator)
    try:
        return list(iterator)
    except RuntimeError:
        if loader_class is not data.DataLoader:  # stock may notice a second death
            raise
    return []


def test_an_iterator_has_ended_once_the_death_of_a_worker_was_raised(loader_class):
    assert in_child(what_follows_death, loader_class, die) == []


def leave(index):
    if index == 5:
        os._exit(3)
    return index


def test_a_worker_that_exits_is_an_error_too(loader_class):
    text, following = in_child(death, loader_class, leave, 1)
    assert loader_class is data.DataLoader or "exited with code 3" in text
    assert following == [[0, 1]]


def test_no_error_is_kept_with_the_loader(loader_class):
    dataset = Squares(2, broken=(0,))
    loader = loader_class(dataset, num_workers=1)
    with pytest.raises(ValueError, match="sample 0 is broken"):
        list(loader)
    dataset.broken = ()
    assert plain(loader) == [[0], [1]]


@each_order
@workers
def test_batches_are_never_mixed_with_those_of_a_broken_one(loader_class, workers):
    loader = loader_class(Squares(100, broken=range(0, 100, 7)), 3, num_workers=workers)
    expected = []
    for first in range(0, 100, 3):
        samples = range(first, min(first + 3, 100))
        bad = any(index % 7 == 0 for index in samples)
        expected.append("ValueError" if bad else [index**2 for index in samples])
    assert outcomes(iter(loader), 34) == expected
    assert torch.is_tensor(next(iter(loader_class(Squares(2), num_workers=workers))))
