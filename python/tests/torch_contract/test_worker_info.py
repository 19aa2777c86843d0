"""What a worker is told about itself."""

import os

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import (
    Calls,
    Counting,
    Sharded,
    identity,
    process,
    worker,
    worker_id,
)


def facts(loader_class, number=2, collate_fn=identity, size=8, **arguments):
    """Per batch of 2, what its samples knew of their worker."""
    return list(
        loader_class(Calls(worker, size), 2, num_workers=number, collate_fn=collate_fn, **arguments)
    )


def test_there_is_no_worker_in_the_training_process(loader_class):
    assert data.get_worker_info() is None
    assert list(loader_class(Calls(worker_id, 2), batch_size=None)) == [-1, -1]
    list(loader_class(Calls(worker_id, 2), num_workers=1))
    assert data.get_worker_info() is None


def test_workers_are_other_processes(loader_class):
    assert set(loader_class(Calls(process, 4), batch_size=None)) == {os.getpid()}
    assert os.getpid() not in set(loader_class(Calls(process, 4), batch_size=None, num_workers=1))


@each_order
@pytest.mark.parametrize("number", some_full([1, 2, 3], 1, 3))
def test_batch_i_belongs_to_worker_i_modulo_their_number(loader_class, number):
    for position, batch in enumerate(facts(loader_class, number)):
        for sample in batch:
            assert sample[:2] == [position % number, number]


@each_order
def test_seeds_are_the_base_seed_and_the_id(loader_class):
    base = int(torch.empty((), dtype=torch.int64).random_(generator=torch.manual_seed(6)))
    for own in (None, torch.Generator().manual_seed(6)):
        torch.manual_seed(6)
        for position, batch in enumerate(facts(loader_class, generator=own)):
            for _, _, seed, torch_seed, _ in batch:
                assert seed == torch_seed == base + position % 2


def test_a_worker_has_one_torch_thread(loader_class):
    before = torch.get_num_threads()
    assert {sample[4] for batch in facts(loader_class) for sample in batch} == {1}
    assert torch.get_num_threads() == before


def collating(samples):
    return [worker(), process(), samples[0][0]]


def test_collate_runs_in_the_same_worker(loader_class):
    for position, (seen, pid, fetched_by) in enumerate(facts(loader_class, collate_fn=collating)):
        assert seen[:2] == [position % 2, 2]
        assert seen[0] == fetched_by
        assert pid != os.getpid()


class Itself(data.Dataset):
    """Is it the dataset that the worker's information names?"""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return data.get_worker_info().dataset is self


def test_the_dataset_is_the_workers_copy(loader_class):
    assert list(loader_class(Itself(), batch_size=None, num_workers=2)) == [True] * 4


def frozen(_):
    info = data.get_worker_info()
    try:
        info.id = 7
    except AttributeError:
        return [info.id != 7, isinstance(info, data._utils.worker.WorkerInfo), repr(info)]
    return [False]


def test_the_information_is_torchs_own_class_and_cannot_be_changed(loader_class):
    sample = next(iter(loader_class(Calls(frozen, 1), batch_size=None, num_workers=1)))
    assert sample[:2] == [True, True]
    for name in ("id", "num_workers", "seed", "dataset"):
        assert f"{name}=" in sample[2]


class Shards(data.IterableDataset):
    """The worker's id and number, from inside of a stream."""

    def __iter__(self):
        for _ in range(4):
            yield worker()


def test_streams_are_told_too(loader_class):
    torch.manual_seed(3)
    loader = loader_class(Shards(), 2, num_workers=2, collate_fn=identity)
    samples = [sample[:4] for batch in loader for sample in batch]
    torch.manual_seed(3)
    base = int(torch.empty((), dtype=torch.int64).random_())
    expected = [[number, 2, base + number, base + number] for number in (0, 1)]
    assert samples == [expected[0]] * 2 + [expected[1]] * 2 + [expected[0]] * 2 + [expected[1]] * 2


def test_user_sharded_streams_are_complete_for_any_number_of_workers(loader_class):
    for number in (0, 1, 2, 5):
        loader = loader_class(Sharded(23), 4, num_workers=number)
        assert sorted(int(x) for batch in loader for x in batch) == list(range(23))


@pytest.mark.parametrize("persistent", [False, True])
def test_a_stream_that_nobody_shards_is_warned_of_once(own_class, caplog, persistent):
    loader = own_class(Counting(6), 2, num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        assert sorted(int(x) for batch in loader for x in batch) == sorted([*range(6)] * 2)
    (warning,) = [record.message for record in caplog.records if record.name == "drapps"]
    assert "Counting" in warning
    assert "which of 2 workers" in warning
    assert [e["why"] for e in loader.explain()["decisions"]["entries"]] == [warning]


def test_other_streams_are_not_warned_of(own_class, caplog):
    list(own_class(Sharded(23), 4, num_workers=3))
    list(own_class(Counting(6), 2, num_workers=1))
    list(own_class(Counting(6), 2, num_workers=2, worker_init_fn=identity))
    assert not [record for record in caplog.records if record.name == "drapps"]


def test_a_stream_outside_of_workers_has_no_information(loader_class):
    assert [int(batch) for batch in loader_class(Counting(2))] == [0, 1]
    assert data.get_worker_info() is None
