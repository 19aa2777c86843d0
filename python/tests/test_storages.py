"""Storages in the batches of worker processes, alone and beside tensors that lie in them."""

import pytest

from python.tests.cells import some_full

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402


class Samples(torch.utils.data.Dataset):
    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.make(index)


def only(samples):
    return samples[0]


def batches(make):
    loader = drapps.torch.DataLoader(Samples(make), 1, num_workers=2, collate_fn=only)
    return list(loader)


@pytest.mark.parametrize("numbers", [0, 5, 5000])
def test_a_storage_arrives_as_it_was_and_may_be_written_to(numbers):
    storages = batches(lambda index: torch.full((numbers,), float(index)).untyped_storage())
    assert [type(each) for each in storages] == [torch.UntypedStorage] * 4
    for index, storage in enumerate(storages):
        values = torch.empty(0).set_(storage)
        assert values.tolist() == [index] * numbers
        values.add_(1)


ORDERS = [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)]
BOTH = [(order, numbers) for order in ORDERS for numbers in (6, 6000)]


@pytest.mark.parametrize(("order", "numbers"), some_full(BOTH, ((0, 1, 2), 6), ((2, 1, 0), 6000)))
def test_tensors_that_lie_in_a_storage_lie_in_it_afterwards(numbers, order):
    def make(index):
        whole = torch.arange(numbers, dtype=torch.float32) + index
        parts = (whole, whole.untyped_storage(), whole[1 : numbers // 2 + 1])
        return [parts[i] for i in order]

    for index, sent in enumerate(batches(make)):
        pieces = dict(zip(order, sent, strict=True))
        assert pieces[0].tolist() == [number + index for number in range(numbers)]
        pieces[0].zero_()
        assert not any(pieces[1])
        assert not pieces[2].any()


def test_a_small_part_of_a_tensor_that_is_sent_whole_stays_a_part_of_it():
    pairs = batches(lambda index: [whole := torch.full((6000,), index), whole[:2]])
    for whole, part in pairs:
        whole.fill_(-1)
        assert part.tolist() == [-1, -1]
