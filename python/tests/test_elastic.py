"""How the process engine finds its number of processes: the rule, and its trials on a model."""

import json
import os
import random
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from drapps import _core
from drapps.errors import PipelineError
from drapps.worker.elastic import Elastic, Sight, cpu_seconds_of, gained, mean, wanted
from drapps.worker.standing import Standing


@dataclass
class Model:
    """A crew, its board, the clock and the consumer: the time that passes makes samples.

    `cores_of(n)` cores are used by n processes, each of which makes `per_core` samples on one.
    """

    cores_of: object
    processes: int = 2
    waited: float = 1.0
    per_core: float = 1000.0
    noise: float = 0.0
    start_s: float = 0.0
    end_s: float = 0.0
    whole: bool = False
    most: int = 1000
    hire_s: float = 0.0
    cpu_budget: float = 2.0
    now: float = 100.0
    members: dict = field(default_factory=dict)
    hired: int = 0

    def __post_init__(self):
        self.board = self
        self.random = random.Random(1)
        self.elastic = Elastic(
            self, lambda: self.cpu_budget, True, clock=lambda: self.now, cpu_seconds=self.cpu.get
        )
        for _ in range(self.processes):
            self.hire(0)
            self.members[self.hired - 1].since = 0.0

    @property
    def cpu(self):
        return SimpleNamespace(get=lambda pid: self.members[pid - 1000].cpu)

    @property
    def active(self):
        return [member for member in self.members.values() if not member.retired]

    def hire(self, worker):
        if self.hired >= self.most:
            raise BlockingIOError("no more processes")
        self.now += self.hire_s
        slot, self.hired = self.hired, self.hired + 1
        self.members[slot] = SimpleNamespace(
            slot=slot,
            pid=1000 + slot,
            worker=worker,
            retired=False,
            samples=0.0,
            cpu=0.0,
            paused=0.0,
        )
        self.members[slot].since = self.now + self.start_s

    def retire(self, slot):
        self.members[slot].retired = True
        self.members[slot].ends = self.now + self.end_s

    def status(self, slot):
        made = int(self.members[slot].samples)
        paused = self.members[slot].paused
        return SimpleNamespace(
            samples=0 if self.whole else made,
            tasks=made if self.whole else 0,
            paused_seconds=paused,
        )

    def run(self, seconds, batch_s=0.05):
        """Lets time pass; the consumer takes a batch after each `batch_s`."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now += batch_s
            for slot, each in list(self.members.items()):
                if each.retired and self.now >= each.ends:
                    del self.members[slot]
            working = [each for each in self.members.values() if each.since < self.now]
            factor = 1 + self.noise * self.random.gauss(0, 1)
            for each in working:
                cores = self.cores_of(len(working)) / len(working)
                each.cpu += cores * batch_s
                each.samples += max(0.0, cores * self.per_core * batch_s * factor)
            self.elastic.waited(self.waited * batch_s)
            self.elastic.step()

    def pause(self, seconds):
        """The consumer does something else, and the workers fill the queue and stop."""
        self.now += seconds
        self.elastic.held_up()

    @property
    def moves(self):
        return [(each["before"], each["applied"]) for each in self.log if each["knob"]]

    @property
    def log(self):
        return self.elastic.standing.log()["entries"]


def busy(n):
    """CPU-bound, on two cores."""
    return min(n, 2.0)


def sleeping(n):
    """Half of the time asleep, on two cores."""
    return min(0.5 * n, 2.0)


def crowded(n):  # noqa: ARG001
    """CPU-bound, on two cores that others use too."""
    return 1.0


def sight(processes, cores, waited=1.0, rate=100.0):
    return Sight(processes, cores, waited, rate)


@pytest.mark.parametrize(
    ("seen", "budget", "processes"),
    [
        (sight(2, 2.0), 2.0, 2),  # full
        (sight(2, 1.0), 2.0, 3),  # idle
        (sight(4, 1.0), 2.0, 6),
        (sight(2, 1.0, waited=0.05), 2.0, 2),  # nobody waits for more
        (sight(2, 1.95), 2.0, 2),  # hardly idle
        (sight(8, 8.0), 2.0, 2),  # at once, not one by one
        (sight(3, 3.0), 2.5, 3),  # the pauses of three leave half a core to nobody
        (sight(1, 1.0), 0.5, 1),  # never none
        (sight(2, 2.05), 2.0, 2),  # within what may be exceeded
        (sight(100, 0.5), 2.0, 150),
        (sight(10, 1.6), 2.0, 13),  # not more than fill the cores
        (sight(2, 0.0), 2.0, 3),
    ],
)
def test_the_rule(seen, budget, processes):
    assert wanted(seen, budget) == processes


def test_a_jump_is_to_as_many_as_fill_the_cores():
    assert wanted(sight(2, 0.04), 2.0, jump=True) == 100
    assert wanted(sight(2, 1.0), 2.0, jump=True) == 4
    assert wanted(sight(2, 1.0, waited=0.05), 2.0, jump=True) == 2
    assert wanted(sight(8, 8.0), 2.0, jump=True) == 2


def test_a_gain_is_told_from_noise_as_soon_as_it_can_be():
    before = [sight(2, 1.0, rate=rate) for rate in (100, 102, 98, 100)]
    assert gained(before, [sight(3, 1.5, rate=150)]) is None
    assert gained(before, [sight(3, 1.5, rate=150)] * 2) is True
    assert gained(before, [sight(3, 1.0, rate=90)] * 2) is False
    unclear = [sight(3, 1.0, rate=rate) for rate in (60, 160)]
    assert gained(before, unclear) is None
    assert gained(before, unclear * 6) is True  # 10 % in the end
    assert gained(before, [sight(3, 1.0, rate=102)] * 12) is False  # too little to keep it for


def test_an_average_is_of_all_but_the_number_of_processes():
    assert mean([sight(2, 1.0, 0.2, 10.0), sight(3, 2.0, 0.4, 30.0)]) == Sight(
        3, 1.5, pytest.approx(0.3), 20.0
    )


@pytest.mark.parametrize("whole", [False, True])
def test_processes_that_sleep_become_as_many_as_fill_the_cores(whole):
    model = Model(sleeping, whole=whole)
    model.run(20)
    assert model.moves == [(2, 4)]
    assert "as many as fill them" in model.log[0]["why"]
    assert {each["knob"] for each in model.log} == {"processes"}


def test_processes_that_fill_the_cores_stay_as_they_are():
    model = Model(busy, noise=0.2)
    model.run(60)
    assert model.moves == []


def test_one_process_becomes_as_many_as_there_are_cores():
    model = Model(busy, processes=1)
    model.run(10)
    assert model.moves == [(1, 2)]


def test_cores_that_others_use_are_tried_for_ever_more_rarely():
    model = Model(crowded, noise=0.05)
    model.run(150)
    assert len(model.active) == 2
    assert model.moves[:4] == [(2, 4), (4, 2), (2, 3), (3, 2)]  # one jump in a loader's life
    assert 4 <= len(model.moves) <= 10
    assert model.log[1]["why"] == "more processes gain nothing"


def test_a_consumer_that_does_not_wait_changes_nothing():
    model = Model(sleeping, waited=0.05)
    model.run(20)
    assert model.moves == []


def test_as_many_processes_stay_as_fill_the_budget():
    model = Model(lambda n: float(n), processes=4, cpu_budget=1.5)
    model.run(10)
    assert model.moves == [(4, 2)]
    assert "budget" in model.log[0]["why"]


def test_a_trial_that_exceeds_the_budget_is_undone():
    model = Model(lambda n: 0.35 * n if n < 9 else 1.2 * n, processes=4, cpu_budget=8.0)
    model.elastic.standing.jumped = True
    model.run(9)
    assert model.moves[:3] == [(4, 6), (6, 9), (9, 7)]  # as many of its processes stay as fit
    assert "budget" in model.log[2]["why"]


def test_processes_that_pause_are_taken_for_what_they_would_use():
    model = Model(lambda _: 0.5, processes=4, cpu_budget=0.5, waited=0.0)
    for _ in range(40):
        model.run(0.05)
        for each in model.members.values():
            each.paused += 0.05 * (1 - 0.5 / len(model.members))
    assert model.moves == [(4, 1)]
    assert model.log[0]["cores"] == pytest.approx(4, rel=0.2)


def test_limits_that_change_are_obeyed_and_noted():
    model = Model(lambda n: float(n), processes=4, cpu_budget=4.0)
    model.run(3)
    model.cpu_budget = 1.0
    model.run(2)
    assert model.moves == [(4, 1)]
    note = next(entry for entry in model.log if entry["knob"] is None)
    assert (note["cores_before"], note["cores"]) == (4.0, 1.0)


def test_processes_that_end_slowly_are_not_taken_for_those_that_stay():
    model = Model(lambda n: float(n), processes=8, end_s=3.0)
    model.run(10)
    assert model.moves == [(8, 2)]


def test_a_budget_is_kept_while_nobody_waits():
    model = Model(lambda n: float(n), processes=4, cpu_budget=2.0, waited=0.0)
    model.run(2)
    assert len(model.active) == 2


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_trial_outlasts_a_pause_of_the_consumer(noise):
    model = Model(sleeping, noise=noise)
    model.run(1)
    assert model.moves[0] == (2, 4)
    model.pause(60)
    model.run(8)
    assert len(model.active) >= 4
    assert (4, 2) not in model.moves


def test_processes_that_had_nothing_to_do_are_not_taken_for_too_few():
    model = Model(busy)
    for _ in range(40):
        model.run(0.6)
        model.pause(0.4)  # as between two passes
    assert model.moves == []


def test_a_budget_is_kept_by_processes_that_have_nothing_to_do_at_times():
    model = Model(lambda n: float(n), processes=4)
    for _ in range(20):
        model.run(0.2)
        model.elastic.held_up()
    assert len(model.active) == 2


def test_a_trial_waits_for_processes_that_start_slowly():
    model = Model(sleeping, start_s=5.0)
    model.elastic.standing.jumped = True
    model.run(5)
    assert model.moves == [(2, 3)]
    model.run(3)
    assert model.moves == [(2, 3), (3, 4)]


def test_a_trial_does_not_wait_for_ever():
    model = Model(sleeping, start_s=1e9)
    model.run(45)
    assert model.moves[:2] == [(2, 4), (4, 2)]


def test_many_processes_are_started_a_few_at_a_time():
    model = Model(lambda n: min(0.02 * n, 2.0), hire_s=0.02)
    model.run(0.7)
    assert model.moves == []  # the move is noted once all of them are there
    assert 3 < len(model.active) < 20
    model.run(9)
    assert model.moves[0] == (2, 100)
    assert len(model.active) >= 100


def test_a_process_that_comes_or_goes_in_a_window_is_not_counted_in_it():
    model = Model(busy)
    model.run(1)
    del model.members[0]  # with all that it had counted
    model.run(0.3)
    model.hire(0)
    model.members[model.hired - 1].cpu = 1e6
    model.run(20)
    assert all(0 <= each["cores"] < 3 for each in model.log)


def test_a_process_that_cannot_be_started_is_not_missed():
    model = Model(lambda n: 0.5 * n, processes=4, cpu_budget=4.0, most=5)
    model.run(60)
    assert len(model.active) == 5
    assert model.moves[0] == (4, 5)
    assert 2 <= len(model.moves) <= 5


def test_what_is_frozen_stays_and_goes_on_afterwards():
    model = Model(sleeping)
    model.elastic.standing.frozen = True
    model.run(20)
    assert model.moves == []
    assert model.elastic.standing.log()["status"] == "frozen"
    model.elastic.standing.frozen = False
    model.run(20)
    assert len(model.active) == 4


def test_the_next_pass_knows_what_was_tried():
    model = Model(busy, cpu_budget=4.0)
    model.run(8)
    assert model.moves == [(2, 4), (4, 2)]
    model.elastic = Elastic(
        model,
        lambda: model.cpu_budget,
        True,
        model.elastic.standing,
        clock=lambda: model.now,
        cpu_seconds=model.cpu.get,
    )
    model.run(2)
    assert model.moves == [(2, 4), (4, 2)]  # the trial has to wait
    assert model.elastic.standing.processes == 2


GOOD = json.loads(_core.settings_of_processes(2))


def test_settings_are_those_of_a_loader_of_the_same_kind():
    assert Standing.from_settings(GOOD).processes == 2
    assert Standing.from_settings(GOOD).settings() == GOOD


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
        Standing.from_settings(settings)


def test_the_log_forgets_its_oldest_entries_and_counts_them():
    standing = Standing()
    for number in range(300):
        standing.moved(number, number + 1, number + 1, "why")
    log = standing.log()
    assert len(log["entries"]) == 256
    assert log["totals"] == {"decisions": 0, "moves": 300, "held": 0, "dropped": 44}
    assert log["entries"][-1]["applied"] == standing.processes == 300


def test_where_workers_are_bound_nothing_moves():
    model = Model(sleeping)
    model.elastic.enabled = False
    model.run(20)
    assert model.moves == []


def test_the_cpu_time_of_a_process_is_told_exactly_and_of_none_not_at_all():
    began, used = time.process_time(), cpu_seconds_of(os.getpid())
    assert used is not None
    assert began <= used <= time.process_time()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert cpu_seconds_of(child) is None
