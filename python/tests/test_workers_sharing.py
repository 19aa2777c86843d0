"""Python datasets in worker processes: large lists and batches in the memory that all share."""

from __future__ import annotations

import collections.abc
import copy
import json
import threading

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps.worker.lists import SharedList, share_large_lists
from python.tests.worker_datasets import Plain


def test_large_lists_are_shared_and_the_data_is_the_same():
    class Listed(data.Dataset):
        def __init__(self):
            self.items = [{"name": f"{i:050d}", "label": i} for i in range(200_000)]

        def __len__(self):
            return 64

        def __getitem__(self, index):
            return self.items[index]["label"], self.items[-1]["label"], len(self.items)

    dataset = Listed()
    loader = drapps.torch.DataLoader(dataset, 16, num_workers=2)
    rows = torch.cat([torch.stack(batch, 1) for batch in loader])
    assert rows.tolist() == [[i, 199_999, 200_000] for i in range(64)]
    assert isinstance(dataset.items, SharedList)
    assert loader.explain()["plan"]["shared_lists"] == ["dataset.items"]
    kept = Listed()
    list(drapps.torch.DataLoader(kept, 16, num_workers=1, share_lists=False))
    assert type(kept.items) is list


def test_shared_lists_are_like_lists():
    items = [{"a": i} for i in range(10)]
    shared = SharedList.of(items)
    assert list(shared) == items
    assert shared[2:8:3] == items[2:8:3]
    assert shared[-1] == {"a": 9}
    assert {"a": 4} in shared
    shared[3] = "other"
    assert shared[3] == "other"
    with pytest.raises(IndexError):
        shared[10]
    with pytest.raises(TypeError, match="share_lists=False"):
        shared.append(1)
    assert len(SharedList.of([])) == 0
    items[3] = "other"
    for same in (shared, copy.copy(shared), copy.deepcopy(shared), _through_pickle(shared)):
        assert isinstance(same, collections.abc.MutableSequence)
        assert same == items
        assert items == same
        assert same != items[1:]
        assert same != tuple(items)
        assert same + [1] == [*items, 1]  # noqa: RUF005
        assert [1] + same == [1, *items]  # noqa: RUF005
        assert str(same) == str(items)
        assert json.loads(json.dumps(same, default=list)) == items
    copied = shared.copy()
    copied.sort(key=str, reverse=True)
    assert copied == sorted(items, key=str, reverse=True)
    assert shared == items


def _through_pickle(shared):
    """As a process that is not forked gets it."""
    loader = drapps.torch.DataLoader(
        Handing(shared), None, num_workers=1, multiprocessing_context="spawn"
    )
    (sample,) = loader
    return sample


class Handing(data.Dataset):
    def __init__(self, shared):
        self.shared = shared

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.shared[: len(self.shared)]


@pytest.mark.parametrize(("element", "mutable"), [({"a": 1}, True), (("a.jpg", 1), False)])
def test_elements_that_can_change_in_place_are_warned_of(element, mutable, caplog):
    class Holder:
        def __init__(self):
            self.items = [element] * 100

    assert share_large_lists(Holder(), data.Dataset, large=1000) == ["dataset.items"]
    assert ("dataset.items has moved to shared memory" in caplog.text) == mutable


def test_lists_that_cannot_be_shared_stay():
    class Holder:
        def __init__(self):
            self.locks = [threading.Lock() for _ in range(10)]
            self.small = [1, 2, 3]

    holder = Holder()
    assert share_large_lists(holder, data.Dataset, large=1000) == []
    assert type(holder.locks) is list
    assert type(holder.small) is list


def test_a_batch_is_the_users_alone():
    loader = drapps.torch.DataLoader(Plain(), 4, num_workers=2)
    held = []
    for _ in range(3):
        for batch in loader:
            held.append((batch[0], batch[0].clone()))
            batch[1].fill_(-1)
    del loader
    assert len(held) == 30
    for batch, cloned in held:
        assert torch.equal(batch, cloned)
        batch += 1


def test_arrays_of_a_custom_collate_are_writable():
    def collate(samples):
        return {"x": np.stack([np.full(300, name) for _, name in samples]), "n": len(samples)}

    for batch in drapps.torch.DataLoader(Plain(), 4, num_workers=2, collate_fn=collate):
        batch["x"] += 1
        assert batch["n"] == 4


def test_memory_is_used_again():
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=2, persistent_workers=True)
    for _ in range(3):
        list(loader)
    board = loader._iterator._processes.board
    before = board.resident()
    for _ in range(10):
        for _batch in loader:
            pass
    assert board.resident() <= before + (1 << 20)
