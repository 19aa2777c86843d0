"""Which process makes what, before and after the processes have told what their datasets keep."""

import pytest

from drapps.worker.assignment import AnyProcess, OwnProcess, SerialProcess, Undecided
from drapps.worker.autoscaler import Autoscaler, MigrationAutoscaler, ProcessAutoscaler
from drapps.worker.commands import ANY_PROCESS
from drapps.worker.process_knob import ProcessKnob

LATE = "it was seen too late for the processes that run, of which any makes any sample"


@pytest.fixture
def knob():
    return ProcessKnob()


@pytest.fixture
def undecided(knob):
    stateless = AnyProcess(knob, ProcessAutoscaler)
    assignment = Undecided(stateless, SerialProcess(knob, MigrationAutoscaler))
    assert not assignment.begins_bound
    assignment.place([7, 9], 3)
    return assignment


def remarks(knob):
    return [entry["why"] for entry in knob.log()["entries"]]


def test_workers_share_the_first_processes_until_it_is_decided(undecided):
    assert [undecided.process_of(worker) for worker in range(3)] == [7, 9, 7]
    assert [undecided.shares(worker) for worker in range(3)] == [False, False, True]
    assert undecided.bound
    assert not undecided.decided_bound
    assert undecided.autoscaler is Autoscaler


def test_any_process_will_do_once_all_have_told_that_nothing_is_kept(undecided, knob):
    assert undecided.learn(1, {}) is undecided
    assert undecided.learn(1, {}) is undecided
    after = undecided.learn(0, {})
    assert (type(after), after.autoscaler) == (AnyProcess, ProcessAutoscaler)
    assert after.process_of(2) == ANY_PROCESS
    assert not after.bound
    assert remarks(knob) == []
    assert after.learn(0, {"dataset.count": True}) is after
    assert remarks(knob) == [f"making samples changes dataset.count: {LATE}"]


def test_the_first_that_keeps_state_decides_for_all(undecided, knob):
    after = undecided.learn(1, {"dataset.count": True, "dataset.cache": False})
    assert (type(after), after.autoscaler) == (SerialProcess, MigrationAutoscaler)
    assert after.hosts is undecided.hosts
    assert after.decided_bound
    assert not after.shares(2)
    assert knob.lasting_state == ["dataset.count"]
    assert list(knob.own_state) == ["dataset.count", "dataset.cache"]
    assert remarks(knob) == [
        "making samples changes dataset.count, dataset.cache: "
        "each virtual worker has a process, and a dataset, of its own"
    ]


def test_workers_that_begin_with_a_process_each_keep_it(knob):
    undecided = Undecided(OwnProcess(knob), SerialProcess(knob))
    assert undecided.begins_bound
    undecided.place([4, 5], 2)
    assert not any(undecided.shares(worker) for worker in range(2))
    undecided.learn(0, {})
    after = undecided.learn(1, {})
    assert type(after) is OwnProcess
    assert (after.process_of(0), after.process_of(1)) == (4, 5)


def test_a_long_list_of_what_is_kept_is_cut(knob):
    serial = SerialProcess(knob)
    assert serial.learn(0, {f"dataset.{name}": True for name in "abcd"}) is serial
    assert "dataset.a, dataset.b, dataset.c and more: each" in remarks(knob)[0]
