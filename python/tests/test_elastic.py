"""How the processes of a crew come to the number that the control plane wants, and its settings."""

import copy
import json
import os
from types import SimpleNamespace

import pytest

from drapps import _core
from drapps.errors import PipelineError
from drapps.worker.elastic import Elastic
from drapps.worker.process_knob import ProcessKnob


class Model:
    """A crew without processes, on a clock of its own: starting one takes `hire_s` seconds."""

    def __init__(self, processes=2, most=1000, hire_s=0.0):
        self.now, self.hire_s, self.most, self.hired = 100.0, hire_s, most, 0
        self.members = {}
        self.knob = ProcessKnob()
        self.board = _core.Board.make(200, 8, 1 << 20)
        self.control.attach(self.board, processes)
        self.elastic = Elastic(self, self.knob, lambda: 500, clock=lambda: self.now)
        for worker in range(processes):
            self.hire(worker)
        self.elastic.staff(fixed=False, moves=None)
        self.hire_s = hire_s

    @property
    def control(self):
        return self.knob.control

    @property
    def active(self):
        return [member for member in self.members.values() if not member.retired]

    def hire(self, worker):
        if self.hired >= self.most:
            raise BlockingIOError("no more processes")
        self.now += self.hire_s
        slot = self.board.enlist()
        self.hired += 1
        self.members[slot] = SimpleNamespace(slot=slot, worker=worker, retired=False)
        self.control.joined(slot, os.getpid())

    def note_retired(self):
        for slot in self.control.take_retired():
            self.members[slot].retired = True

    def want(self, processes):
        self.control.want(processes)
        self.elastic.step()

    @property
    def remarks(self):
        return [entry["why"] for entry in self.knob.log()["entries"]]


@pytest.fixture
def model():
    made = Model()
    yield made
    made.control.detach(made.board)


def test_as_many_are_started_as_are_wanted(model):
    model.want(7)
    assert len(model.active) == 7
    model.elastic.step()
    assert len(model.active) == 7


def test_many_are_started_a_few_at_a_time(model):
    model.hire_s = 0.02
    model.want(100)
    assert 3 <= len(model.active) - 2 <= 4
    steps = 0
    while len(model.active) < 100:
        model.elastic.step()
        steps += 1
    assert steps > 20
    assert model.control.processes == 100


def test_what_cannot_be_started_is_not_wanted_any_more(model):
    model.most = 5
    model.want(8)
    assert (len(model.active), model.control.processes) == (5, 5)
    assert model.remarks == ["no process can be added: no more processes"]
    model.elastic.step()
    assert model.hired == 5


def test_nothing_is_started_where_the_number_is_fixed(model):
    model.elastic.staff(fixed=True, moves=None)
    model.want(4)
    assert len(model.active) == 2


def test_virtual_workers_are_moved_where_they_are_bound(model):
    aims = []
    moves = SimpleNamespace(most=3, aim=lambda count, why: aims.append((count, why)))
    model.elastic.staff(fixed=False, moves=moves)
    model.want(1)
    model.elastic.step()
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
        ({**GOOD, "more": object()}, "not JSON serializable"),
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
