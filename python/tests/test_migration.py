"""Virtual workers that are bound to processes, on fewer: it does not show in the data."""

import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps.torch.requests import Requests
from drapps.worker.autoscaler import MigrationAutoscaler
from python.tests.cells import full
from python.tests.migrating_datasets import (
    Generated,
    Mapped,
    Placed,
    Stateful,
    aim,
    log,
    passes,
    same,
    settled,
)


@pytest.mark.parametrize(
    "method",
    ["fork", full("spawn"), full("forkserver")],
)
@pytest.mark.parametrize("processes", [1, full(2)])
def test_a_stream_with_a_state_goes_on_elsewhere(processes, method):
    options = {"batch_size": 3, "num_workers": 4, "persistent_workers": True}
    stock = passes(data.DataLoader(Stateful(), **options))
    loader = drapps.torch.DataLoader(Stateful(), multiprocessing_context=method, **options)
    same(passes(loader, migrated_to=processes), stock)
    assert settled(loader._iterator, processes)
    counts = [each["processes"] for each in log(loader) if "processes" in each]
    assert counts == list(range(3, processes - 1, -1))
    went = [each["why"] for each in log(loader) if "went on" in each["why"]]
    assert went
    assert any("by the state_dict of its stream" in why for why in went)


@pytest.mark.parametrize("after", [1, *map(full, (0, 4, 11))])
def test_a_worker_that_migrates_twice_in_a_row_goes_on_where_it_was(after):
    options = {"batch_size": 1, "num_workers": 5, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Placed(), **options))
    loader = drapps.torch.DataLoader(Placed(), **options)
    same(passes(loader, migrated_to=1, after=after, pauses=True), stock)


@pytest.mark.parametrize("batch_size", [full(1), 50])
def test_a_worker_that_migrated_and_was_not_asked_begins_the_next_pass_as_any_other(batch_size):
    options = {"num_workers": 3, "persistent_workers": True, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Placed(), batch_size, **options), 3)
    loader = drapps.torch.DataLoader(Placed(), batch_size, **options)
    after = len(stock) // 3 - 1  # the last batch of a pass
    same(passes(loader, 3, migrated_to=1, after=after, pauses=True), stock)


@pytest.mark.parametrize("dataset", [full(Stateful), full(Generated), Placed])
def test_a_stream_that_has_not_begun_begins_elsewhere(dataset, monkeypatch):
    options = {"batch_size": 4, "num_workers": 3, "prefetch_factor": 1, "persistent_workers": True}
    stock = passes(data.DataLoader(dataset(), **options), 3)
    loader = drapps.torch.DataLoader(dataset(), **options)
    ours = passes(loader, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Requests, "fill", lambda _: None)
        iterator = iter(loader)
    aim(iterator, 1)  # behind the beginnings, before any batch
    iterator._requests.fill()
    ours += [[torch.as_tensor(field) for field in batch] for batch in iterator]
    ours += [[torch.as_tensor(field) for field in batch] for batch in loader]
    if dataset is Stateful:  # to begin draws, which happens twice
        ours, stock = ([batch[:1] for batch in batches] for batches in (ours, stock))
    same(ours, stock)
    assert any("before its stream has begun" in each["why"] for each in log(loader))


def test_a_resumed_stream_that_is_run_again_stays_where_it_was():
    options = {"batch_size": 4, "num_workers": 2, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Generated(), **options), 1)
    loader, again = (drapps.torch.DataLoader(Generated(), **options) for _ in range(2))
    torch.manual_seed(3)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    again.load_state_dict(loader.state_dict())
    iterator = iter(again)
    aim(iterator, 1)
    same([[torch.as_tensor(field) for field in batch] for batch in iterator], stock[4:])


def test_a_stream_without_a_state_stays_until_it_has_ended():
    options = {"batch_size": 3, "num_workers": 3, "persistent_workers": True}
    stock = passes(data.DataLoader(Generated(), **options), 3)
    loader = drapps.torch.DataLoader(Generated(), **options)
    same(passes(loader, 3, migrated_to=1), stock)
    assert settled(loader._iterator, 1)
    whys = [each["why"] for each in log(loader)]
    assert whys[0].endswith("stays with its process for now: its stream has no state_dict")
    assert any("after the end of its stream" in why for why in whys)


@pytest.mark.parametrize("persistent", [full(False), True])
def test_the_stock_order_is_kept(persistent):
    options = {"batch_size": 4, "num_workers": 3, "shuffle": True}
    options["persistent_workers"] = persistent
    stock = passes(data.DataLoader(Mapped(), **options))
    loader = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(passes(loader, migrated_to=1), stock)
    assert len([each for each in log(loader) if "went on" in each["why"]]) >= 2


@pytest.mark.full
def test_a_pass_that_is_left_does_not_show_who_migrated():
    def left(loader, migrates):
        torch.manual_seed(3)
        kept = []
        for count in (5, 7, 1000):
            iterator = iter(loader)
            for number, batch in enumerate(iterator):
                if migrates and number == 3:
                    aim(iterator, 1)
                kept.append([torch.as_tensor(field) for field in batch])
                if number == count:
                    break
        return kept

    options = {"batch_size": 4, "num_workers": 3, "shuffle": True, "persistent_workers": True}
    one = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    other = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(left(one, True), left(other, False))
    assert settled(one._iterator, 1)


@pytest.mark.full
def test_batches_out_of_order_are_all_there():
    options = {"batch_size": 3, "num_workers": 4, "in_order": False}
    stock = passes(data.DataLoader(Stateful(), **options), 1)
    migrated = passes(drapps.torch.DataLoader(Stateful(), **options), 1, migrated_to=1)

    def numbers(batches):
        return sorted(int(number) for batch in batches for number in batch[0])

    assert numbers(migrated) == numbers(stock)


def test_what_cannot_travel_stays_and_is_named():
    lock = torch.zeros(1).share_memory_()
    for more, why in ((lambda: 0, "more"), (lock, "shared memory")):
        options = {"batch_size": 4, "num_workers": 2, "persistent_workers": True}
        stock = passes(data.DataLoader(Mapped(more), **options))
        loader = drapps.torch.DataLoader(Mapped(more), torch_order=True, **options)
        same(passes(loader, migrated_to=1), stock)
        assert len(loader._iterator._workers) == 2
        stays = [each["why"] for each in log(loader) if "stays" in each["why"]]
        assert 1 <= len(stays) <= 2
        assert all(why in each for each in stays)


def test_what_worker_init_fn_did_stays_with_its_process():
    def begin(worker):
        assert worker >= 0

    for options in ({"worker_init_fn": begin}, {"on_worker_death": "restart"}):
        loader = drapps.torch.DataLoader(Stateful(), 3, num_workers=2, **options)
        assert not isinstance(iter(loader)._processes.autoscaler, MigrationAutoscaler)


def test_a_state_that_does_not_load_is_an_error_of_its_worker():
    loader = drapps.torch.DataLoader(Stateful(fails=True), 3, num_workers=2)
    with pytest.raises(ValueError, match=r"this state is of no use[\s\S]*arrival"):
        passes(loader, 1, migrated_to=1)
