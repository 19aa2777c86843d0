"""Loaders beside the user's own forks, processes and threads."""

import multiprocessing
import os
import threading

import pytest
from torch.utils import data

from python.tests.torch_contract.forks import in_child
from python.tests.torch_contract.samples import Calls, Squares, plain, process, worker_id

workers = pytest.mark.parametrize("workers", [0, 1])


def batches(loader):
    return plain(loader)


@workers
def test_a_loader_made_before_a_fork_works_in_the_child(loader_class, workers):
    loader = loader_class(Squares(4), 2, num_workers=workers)
    assert in_child(batches, loader) == plain(loader) == [[0, 1], [4, 9]]


@workers
def test_a_child_that_ends_does_not_disturb_the_parents_iterator(loader_class, workers):
    iterator = iter(loader_class(Squares(8), 2, num_workers=workers))
    assert next(iterator).tolist() == [0, 1]
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert plain(iterator) == [[4, 9], [16, 25], [36, 49]]


def drop(kept):
    kept.clear()  # the child's copy of the iterator; its workers are the parent's
    return True


def test_a_child_that_drops_its_copy_of_an_iterator_leaves_the_parents_alone(own_class):
    kept = [iter(own_class(Squares(8), 2, num_workers=1))]
    assert next(kept[0]).tolist() == [0, 1]
    assert in_child(drop, kept)
    assert plain(kept[0]) == [[4, 9], [16, 25], [36, 49]]


def another(loader_class):
    return plain(loader_class(Squares(4), 2, num_workers=1))


def test_a_child_may_run_its_own_loader_while_the_parents_runs(loader_class):
    iterator = iter(loader_class(Squares(8), 2, num_workers=1))
    next(iterator)
    assert in_child(another, loader_class) == [[0, 1], [4, 9]]
    assert plain(iterator) == [[4, 9], [16, 25], [36, 49]]


def put(queue, loader_class):
    queue.put(another(loader_class))


def test_a_loader_works_in_a_process_of_the_user(loader_class):
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    started = context.Process(target=put, args=(queue, loader_class))
    started.start()
    assert queue.get() == [[0, 1], [4, 9]]
    started.join(30)
    assert started.exitcode == 0


@workers
def test_a_loader_works_in_a_thread(loader_class, workers):
    values = []
    loader = loader_class(Squares(4), 2, num_workers=workers)
    thread = threading.Thread(target=lambda: values.extend(plain(loader)))
    thread.start()
    thread.join(30)
    assert values == [[0, 1], [4, 9]]


def test_an_iterator_may_be_used_by_another_thread_than_its_maker(loader_class):
    values = []
    iterator = iter(loader_class(Squares(8), 2, num_workers=1))
    next(iterator)
    thread = threading.Thread(target=lambda: values.append(next(iterator).tolist()))
    thread.start()
    thread.join(30)
    assert [*values, *plain(iterator)] == [[4, 9], [16, 25], [36, 49]]


class Inner(data.Dataset):
    """Reads through a loader of its own."""

    def __init__(self, loader_class):
        self.loader = loader_class(Calls(worker_id, 4), 2)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [worker_id(), *plain(self.loader)]


@workers
def test_a_dataset_may_read_through_a_loader_without_workers(loader_class, workers):
    loader = loader_class(Inner(loader_class), batch_size=None, num_workers=workers)
    outside = 0 if workers else -1
    assert list(loader) == [[outside, [outside, outside], [outside, outside]]] * 2


def test_workers_are_daemons_and_cannot_have_children_by_multiprocessing(loader_class):
    def nested(_):
        return next(iter(loader_class(Squares(), num_workers=1)))

    loader = loader_class(Calls(nested, 1), num_workers=1, multiprocessing_context="fork")
    with pytest.raises(AssertionError, match="daemonic processes are not allowed to have children"):
        list(loader)


def test_workers_are_children_of_the_process_that_iterates(loader_class):
    def parents(_):
        return os.getppid()

    loader = loader_class(
        Calls(parents, 2), batch_size=None, num_workers=1, multiprocessing_context="fork"
    )
    assert set(loader) == {os.getpid()}
    assert process() == os.getpid()
