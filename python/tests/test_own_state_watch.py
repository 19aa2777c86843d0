"""What counts as state that a dataset keeps on itself, and how much of it is looked at."""

import io
import itertools

import numpy as np
import pytest
import torch
from torch.utils import data

from drapps.torch.own_state import Watch


def watched(dataset, samples=4):
    watch = Watch({"dataset": dataset})
    for index in range(samples):
        dataset[index]
        watch.sample_made()
    return watch.batch_made()


class Keeps:
    """Does something to itself, `d`, for each sample `i`."""

    def __init__(self, change, **attributes):
        self.change = change
        vars(self).update(attributes)

    def __getitem__(self, index):
        exec(self.change, {"d": self, "i": index, "torch": torch})


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (Keeps("pass", big=list(range(9999)), x=1.5, y=float("nan")), {}),
        (Keeps("d.last = i"), {"dataset.last": True}),
        (Keeps("d.first = 7"), {"dataset.first": False}),
        (Keeps("d.last = torch.ones(i)"), {"dataset.last": True}),
        (Keeps("d.seen.append(i)", seen=[]), {"dataset.seen": False}),
        (Keeps("d.seen.add(i)", seen=set()), {"dataset.seen": False}),
        (Keeps("d.hits[2] = i", hits=[0] * 40), {"dataset.hits[2]": True}),
        (Keeps("d.sums += 1", sums=torch.zeros(3)), {"dataset.sums": False}),
        (Keeps("d.sums[1] += 1", sums=np.zeros(3)), {"dataset.sums": False}),
        (Keeps("next(d.it)", it=itertools.count()), {"dataset.it": True}),
        (Keeps("d.rng.rand()", rng=np.random.RandomState(2)), {"dataset.rng": True}),
        (Keeps("d.rng.rand()", rng=np.random.mtrand._rand), {}),
        (Keeps("vars(d).pop('b', 0)", b=1), {"dataset.b": False}),
        (data.Subset(Keeps("d.n = i"), range(9)), {"dataset.dataset.n": True}),
    ],
)
def test_what_counts_as_state(dataset, expected):
    assert watched(dataset) == expected


def test_what_is_looked_at_is_bounded_in_all():
    taken = io.BytesIO()  # a handle, behind which nobody looks

    class Elements(list):
        def __iter__(self):
            for element in super().__iter__():
                taken.write(b".")
                yield element

    lists = [Elements([i, j] for j in range(300)) for i in range(500)]
    assert watched(Keeps("pass", lists=lists, again=[lists, [lists]])) == {}
    assert 0 < taken.tell() < 3 * 5000  # three looks at some 4000 parts each

    class Wide:
        __slots__ = ("of",)

        def __init__(self, of):
            self.of = of

    deep = None
    for _ in range(20_000):
        deep = Wide(deep)
    assert watched(Keeps("d.n = i", deep=deep)) == {"dataset.n": True}


def test_a_large_view_is_not_copied_to_be_looked_at(monkeypatch):
    monkeypatch.setattr(np, "ascontiguousarray", lambda _: pytest.fail("it was copied"))
    assert watched(Keeps("pass", view=np.zeros((2000, 2000)).T)) == {}


def test_an_object_whose_attributes_cannot_be_read_is_not_looked_into():
    class Refuses:
        @property
        def __dict__(self):
            raise RuntimeError("no")

    dataset = Keeps("d.n = i", odd=Refuses())
    assert watched(dataset) == {"dataset.n": True}
