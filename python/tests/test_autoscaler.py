"""How the processes of a pool come to the number that the control plane wants, and its settings."""

import copy
import json
import os
from types import SimpleNamespace

import pytest

from drapps import _core
from drapps.errors import PipelineError
from drapps.worker.autoscaler import Autoscaler, MigrationAutoscaler, ProcessAutoscaler
from drapps.worker.process_knob import ProcessKnob


class Model:
    """A pool without processes, on a clock of its own: starting one takes `start_s` seconds."""

    def __init__(self, processes=2, most=1000, start_s=0.0):
        self.now, self.start_s, self.most, self.started = 100.0, start_s, most, 0
        self.running = {}
        self.knob = ProcessKnob()
        self.board = _core.Board.make(200, 8, 1 << 20)
        self.control.attach(self.board, processes)
        for worker in range(processes):
            self.start(worker)
        self.scale_by(ProcessAutoscaler)
        self.start_s = start_s

    def scale_by(self, autoscaler):
        hosts = dict.fromkeys(range(3), 0)
        clock = lambda: self.now  # noqa: E731
        self.autoscaler = autoscaler(self, self.knob, hosts, lambda: 500, clock)

    @property
    def control(self):
        return self.knob.control

    @property
    def active(self):
        return [each for each in self.running.values() if not each.retired]

    def start(self, worker):
        if self.started >= self.most:
            raise BlockingIOError("no more processes")
        self.now += self.start_s
        number = self.board.enlist()
        self.started += 1
        self.running[number] = SimpleNamespace(number=number, worker=worker, retired=False)
        self.control.joined(number, os.getpid())

    def note_retired(self):
        for number in self.control.take_retired():
            self.running[number].retired = True

    def want(self, processes):
        self.control.want(processes)
        self.autoscaler.step()

    @property
    def remarks(self):
        return [entry["why"] for entry in self.knob.log()["entries"]]


@pytest.fixture
def model():
    pool = Model()
    yield pool
    pool.control.detach(pool.board)


def test_as_many_are_started_as_are_wanted(model):
    model.want(7)
    assert len(model.active) == 7
    model.autoscaler.step()
    assert len(model.active) == 7


def test_many_are_started_a_few_at_a_time(model):
    model.start_s = 0.02
    model.want(100)
    assert 3 <= len(model.active) - 2 <= 4
    steps = 0
    while len(model.active) < 100:
        model.autoscaler.step()
        steps += 1
    assert steps > 20
    assert model.control.processes == 100


def test_what_cannot_be_started_is_not_wanted_any_more(model):
    model.most = 5
    model.want(8)
    assert (len(model.active), model.control.processes) == (5, 5)
    assert model.remarks == ["no process can be added: no more processes"]
    model.autoscaler.step()
    assert model.started == 5


def test_nothing_is_started_where_the_number_is_fixed(model):
    model.scale_by(Autoscaler)
    model.want(4)
    assert len(model.active) == 2


def test_virtual_workers_migrate_where_they_are_bound(model):
    aims = []
    model.scale_by(MigrationAutoscaler)
    model.autoscaler.migrations.aim = lambda count, why: aims.append((count, why))
    model.want(1)
    model.autoscaler.step()
    assert aims == [(1, "1 processes are wanted")]
    assert len(model.active) == 2


GOOD = json.loads(_core.settings_of_processes(2))


def test_settings_are_those_of_a_loader_of_the_same_kind():
    assert ProcessKnob.from_settings("trials", GOOD).processes == 2
    assert ProcessKnob.from_settings("trials", GOOD).settings() == GOOD
    assert ProcessKnob.from_settings("trials", None).processes == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "another version"),
        ({"knobs": {"processes": 2}}, "another version"),
        ({**GOOD, "schema": "33180df60ba1cb3a"}, "another version"),
        ({**GOOD, "knobs": {"workers": 4}}, "workers, which this loader has not"),
        ({**GOOD, "knobs": {"processes": 0}}, "leave no process"),
        ({**GOOD, "knobs": {"processes": True}}, "not an integer"),
        ({**GOOD, "knobs": {}}, "missing"),
        ({**GOOD, "knobs": None}, "need the objects"),
        ({**GOOD, "more": object()}, "must be made of plain numbers"),
    ],
)
def test_settings_of_something_else_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        ProcessKnob.from_settings("trials", settings)


def test_the_log_forgets_its_oldest_entries_and_counts_them():
    knob = ProcessKnob()
    for number in range(300):
        knob.remark(f"number {number}", worker=number)
    log = knob.log()
    assert len(log["entries"]) == 256
    assert log["totals"] == {"decisions": 0, "moves": 0, "held": 0, "dropped": 44}
    assert (log["entries"][-1]["why"], log["entries"][-1]["worker"]) == ("number 299", 299)
    assert log["entries"][-1]["knob"] is None


def test_a_copy_begins_with_as_many_and_has_a_log_of_its_own():
    knob = ProcessKnob.from_settings("trials", GOOD)
    knob.freeze(True)
    knob.remark("once")
    other = copy.deepcopy(knob)
    assert (other.processes, other.log()["status"], other.log()["entries"]) == (2, "frozen", [])
    assert knob.remark_once("twice")
    assert not knob.remark_once("twice")


def test_a_child_of_a_fork_decides_for_itself():
    knob = ProcessKnob.from_settings("trials", GOOD)
    knob.remark("in the parent")
    pid = os.fork()
    if pid == 0:
        good = knob.processes == 2 and not knob.log()["entries"]
        knob.remark("in the child")
        os._exit(0 if good and len(knob.log()["entries"]) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(knob.log()["entries"]) == 1
