"""Lists in shared memory, when they are sent on by a process that does not outlive it."""

import os
import pickle

from drapps.worker.hosted import HostedWorkers
from drapps.worker.lists import SharedList

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
    found = pickle.loads(sent)
    assert type(found) is list
    assert found == [*ITEMS[:3], "own", *ITEMS[4:]]
