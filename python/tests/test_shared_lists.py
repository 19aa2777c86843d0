"""Lists in shared memory, when they are sent on by a process that does not outlive it."""

import os
import pickle

from torch.utils import data

from drapps.worker.hosted import HostedWorkers
from drapps.worker.lists import SharedList, share_large_lists
from drapps.worker.looks import Looks

ITEMS = [{"a": i} for i in range(1000)]


class Holding:
    """A job that takes a list along, and stands for what arrives."""

    def __init__(self, items):
        self.items = items

    def pause(self):
        pass

    def packer(self):
        return None

    def leave(self, worker):
        return "with its list", {"items": self.items, "worker": worker}

    def join(self, worker, carried):
        assert carried["worker"] == worker
        return Holding(carried["items"])


def sent_by_a_process_that_has_ended(make):
    """What `make` gives in a forked process, as buffers."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writes, "wb") as file:
            pickle.dump([bytes(part) for part in make()], file)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        parts = pickle.load(file)
    assert os.waitpid(pid, 0)[1] == 0
    return parts


def test_a_shared_list_arrives_from_a_process_that_has_ended():
    shared = SharedList.of(ITEMS)
    here = HostedWorkers(Holding(shared), 0)

    def leave():
        shared[3] = "own"
        return HostedWorkers(Holding(shared), 1).leave(1)

    _, *parts = sent_by_a_process_that_has_ended(leave)
    assert sum(map(len, parts)) < 1000
    here.join(1, parts)
    arrived = here.turn_to(1).items
    assert isinstance(arrived, SharedList)
    assert arrived == [*ITEMS[:3], "own", *ITEMS[4:]]
    assert shared == ITEMS


def test_a_pickle_of_a_shared_list_outlives_its_process():
    def send():
        shared = SharedList.of(ITEMS)
        shared[3] = "own"
        return [pickle.dumps(shared)]

    (sent,) = sent_by_a_process_that_has_ended(send)
    items = pickle.loads(sent)
    assert type(items) is list
    assert items == [*ITEMS[:3], "own", *ITEMS[4:]]


class Holder(data.Dataset):
    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_the_size_of_a_list_is_inferred_from_a_few_looks():
    looks = Looks()
    size = looks.size_of([list(range(1000, 1300)) for _ in range(500)])
    assert 500 * 300 * 30 < size < 500 * 300 * 50
    assert looks.left > 80_000


def test_what_holds_itself_has_a_size():
    itself = []
    itself.append(itself)
    table = {"list": itself}
    table["table"] = table
    assert 0 < Looks().size_of([itself, table, table]) < 2000


def test_no_more_than_so_many_looks_in_all():
    looks = Looks(1000)
    for _ in range(20):
        looks.size_of([[i] for i in range(1000)])
    assert looks.left == 0
    holder = Holder(large=["x" * 1000] * 1000)
    assert share_large_lists(Holder(**{f"a{i}": [[0]] * 500 for i in range(900)}), Holder) == []
    assert share_large_lists(holder, Holder, 100_000) == ["dataset.large"]


def test_datasets_within_datasets_as_deep_as_they_go():
    inner = Holder(large=["x" * 1000] * 1000)
    for _ in range(3000):
        inner = Holder(inner=inner)
    (moved,) = share_large_lists(inner, Holder, 100_000)
    assert moved == f"dataset{'.inner' * 3000}.large"
