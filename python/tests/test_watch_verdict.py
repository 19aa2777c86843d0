"""From numbers to a verdict: the rules, on trainings that are made up."""

import pytest

from drapps.watching.account import MakingAccount, RankAccount, _handover_share
from drapps.watching.criterion import Criterion
from drapps.watching.rules import RULES
from drapps.watching.times import Spread, Timeline
from drapps.watching.verdict import verdict_of

MACHINE = {
    "cores": 8.0,
    "quota": None,
    "seconds": 100.0,
    "busy_s": 200.0,
    "own_cpu_s": 100.0,
    "workers_cpu_s": 100.0,
    "throttled_s": 0.0,
    "memory_pressure_s": 0.0,
    "major_faults": 0.0,
}


def spread(*seconds):
    times = Spread()
    for each in seconds:
        times.add(each)
    return times


def making(**changes):
    given = {
        "workers": 2,
        "seconds": 200.0,
        "busy_s": 195.0,
        "parts": {("transform", "cpu"): 70.0, ("storage", "io"): 65.0, ("decode", "cpu"): 60.0},
        "batches": spread(*[0.2] * 900),
        "samples": spread(*[0.02] * 9000),
    }
    return MakingAccount(**given | changes)


def rank(stall=0.3, number=0, machine=(), loader=(), **changes):
    """A rank of 900 steps in 90 seconds, which waits for data for so much of them."""
    given = {
        "rank": number,
        "pid": 100 + number,
        "seconds": 100.0,
        "loader": {"kind": "stock", "batch_size": 10, "num_workers": 2} | dict(loader),
        "steps": spread(*[0.1] * 900),
        "body": spread(*[0.1 * (1 - stall)] * 900),
        "elsewhere": 0.0,
        "exposed_s": 90.0 * stall,
        "waits": spread(*[0.1 * stall] * 900),
        "waited_steps": 900,
        "handover_share": 0.0,
        "queue_s": 0.0,
        "device_busy": None,
        "apart": {},
        "starts": [1.0],
        "gaps": [],
        "making": making(),
        "synchronising_s": 0.0,
        "step_lines": [(50.0, "train.py:9", "loss.backward()")],
        "machine": MACHINE | dict(machine),
        "timeline": Timeline(0).facts(),
        "grown_bytes_per_hour": 0.0,
    }
    return RankAccount(**given | changes)


def of(stage, resource):
    return making(parts={(stage, resource): 195.0})


CASES = {
    "too-little": rank(steps=spread(*[0.1] * 5)),
    "another-thread": rank(elsewhere=1.0),
    "step": rank(stall=0.03),
    "accelerator": rank(stall=0.0, device_busy=0.99),
    "pauses": rank(stall=0.01, apart={"validation": 40.0}),
    "quota": rank(machine={"quota": 2.0, "throttled_s": 30.0}, making=of("decode", "core")),
    "memory": rank(machine={"memory_pressure_s": 40.0}),
    "hand-over": rank(handover_share=0.9),
    "foreign-load": rank(machine={"busy_s": 500.0}, queue_s=20.0, handover_share=0.9),
    "many-workers": rank(making=making(parts={("decode", "core"): 195.0}, workers=12)),
    "stragglers": rank(making=making(samples=spread(*[0.01] * 990, *[1.0] * 10))),
    "prefetch": rank(making=making(busy_s=100.0)),
    "few-workers": rank(),
    "no-workers": rank(making=making(workers=0)),
    "storage": rank(making=of("storage", "io")),
    "decode": rank(making=of("decode", "cpu")),
    "transform": rank(making=of("transform", "cpu")),
    "collate": rank(making=of("collate", "cpu")),
    "unclear": rank(making=MakingAccount(python=False)),
}


@pytest.mark.parametrize("cause", CASES)
def test_each_cause_has_its_verdict(cause):
    verdict = verdict_of([CASES[cause]])
    assert verdict.cause == cause
    bound = {
        "too-little": None,
        "unclear": None,
        "another-thread": None,
        "step": False,
        "accelerator": False,
    }
    assert verdict.data_bound is bound.get(cause, cause != "pauses")
    assert verdict.sentence.endswith(".") and verdict.action.endswith(".")
    if verdict.data_bound:
        assert verdict.gain == pytest.approx(1 / 0.7, rel=0.01)


def test_every_rule_says_why_it_is_there():
    assert all(rule.__doc__ for rule in RULES)


def test_nothing_that_was_seen_is_no_verdict():
    assert verdict_of([]).data_bound is None


def test_a_rank_that_waits_for_data_is_named_and_the_others_are_not():
    verdict = verdict_of([rank(stall=0.0), rank(number=1, making=of("storage", "io"))])
    assert verdict.cause == "storage" and verdict.sentence.startswith("Rank 1 alone waits for data")


def test_a_rank_that_computes_longer_is_named_where_the_others_wait_for_it():
    waiting = rank(stall=0.0, synchronising_s=60.0)
    verdict = verdict_of([waiting, rank(stall=0.0, number=1)])
    assert (verdict.cause, verdict.data_bound) == ("slow-rank", False)
    assert "rank 1 computes for 100 ms a step" in verdict.sentence
    assert verdict.gain == pytest.approx(3, rel=0.05)


def test_a_rank_that_computes_an_eighth_longer_is_named():
    waiting = rank(stall=0.044, synchronising_s=11.0)
    verdict = verdict_of([waiting, rank(stall=0.044, number=1)])
    assert verdict.cause == "slow-rank" and "rank 1 computes" in verdict.sentence
    even = [rank(stall=0.0, synchronising_s=seconds) for seconds in (2.0, 5.0)]
    assert verdict_of(even).cause == "step"


def test_the_hand_over_that_every_worker_process_takes_is_no_cause():
    assert verdict_of([rank(stall=0.07, handover_share=0.9)]).cause == "step"
    pauses = rank(stall=0.07, handover_share=0.9, apart={"validation": 40.0})
    assert verdict_of([pauses]).cause == "pauses"
    assert verdict_of([rank(stall=0.07, handover_share=0.1)]).data_bound is True
    assert verdict_of([rank(stall=0.2, handover_share=0.9)]).cause == "hand-over"


def test_one_worker_is_one():
    assert "1 worker is too few" in verdict_of([rank(making=making(workers=1))]).sentence
    assert "2 workers are too few" in verdict_of([rank()]).sentence


def test_a_batch_that_comes_late_is_not_waited_for_where_its_worker_is_never_idle():
    late = {"handover_s": 3.0, "making_s": 1.0}
    assert _handover_share(late, making(busy_s=199.0)) == 0.0
    assert _handover_share(late, making(busy_s=100.0)) == 0.75
    assert _handover_share({"handover_s": 0.0, "making_s": 0.0}, making()) is None


def test_of_two_slow_stages_the_slower_one_is_named():
    both = {("decode", "cpu"): 110.0, ("transform", "cpu"): 85.0}
    lines = [(99.0, "a.py:1", "blur(x)", "transform", "cpu")]
    lines += [(50.0, "a.py:2", "load(x)", "decode", "cpu")]
    verdict = verdict_of([rank(making=making(parts=both, lines=lines))])
    assert verdict.cause == "decode" and "(a.py:2, load(x))" in verdict.sentence
    assert verdict_of([rank()]).cause == "few-workers"
    thirds = {("transform", "cpu"): 90.0, ("storage", "io"): 60.0, ("decode", "cpu"): 45.0}
    assert verdict_of([rank(making=making(parts=thirds))]).cause == "few-workers"


def test_what_no_worker_does_is_done_by_one_whatever_is_slow():
    alone = making(workers=0, parts={("decode", "cpu"): 195.0})
    verdict = verdict_of([rank(making=alone)])
    assert verdict.cause == "no-workers" and "100% of that is spent decoding" in verdict.sentence
    assert verdict.action.startswith("Set num_workers=")
    assert verdict_of([rank(making=alone, machine={"cores": 1.0})]).cause == "decode"
    waits = making(workers=0, parts={("storage", "io"): 195.0})
    assert verdict_of([rank(making=waits, machine={"cores": 1.0})]).cause == "no-workers"


def test_a_long_sample_is_found_among_samples_of_two_kinds():
    samples = spread(*[0.0001] * 740, *[0.004] * 250, *[0.5] * 10)
    assert verdict_of([rank(making=making(samples=samples))]).cause == "stragglers"


def test_a_long_pause_now_and_then_is_no_step():
    body = spread(*[0.05] * 890, *[4.0] * 10)
    verdict = verdict_of([rank(stall=0.01, steps=body, body=body, exposed_s=0.5)])
    assert verdict.cause == "pauses" and "10 pauses" in verdict.sentence


@pytest.mark.parametrize(
    ("text", "name", "limit"), [("stall>5%", "stall", 0.05), (" ceiling >= 1.5 ", "ceiling", 1.5)]
)
def test_a_criterion_is_read(text, name, limit):
    criterion = Criterion.parse(text)
    assert (criterion.name, criterion.limit) == (name, pytest.approx(limit))


@pytest.mark.parametrize("text", ["stall", "stall>", "speed>3", "stall=5%", ""])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(ValueError, match="is no criterion: write one of stall, ceiling"):
        Criterion.parse(text)


def test_times_are_spread():
    times = Spread.of(spread(*[0.01] * 99).facts(), spread(1.0).facts())
    assert times.count == 100 and times.sum == pytest.approx(1.99) and times.most == 1.0
    assert times.quantile(0.5) == pytest.approx(0.01) and times.quantile(1) == pytest.approx(1)
    assert times.above(0.5) == (1, 1.0)
    assert Spread().quantile(0.5) == Spread().mean == 0


def test_a_timeline_stays_short():
    line = Timeline(0.0)
    for second in range(5000):
        line.add(second + 0.5, 0.5, 0.25)
    facts = line.facts()
    assert len(facts["bins"]) <= 480 and sum(each[0] for each in facts["bins"]) == 5000
    assert sum(each[2] for each in facts["bins"]) == pytest.approx(1250)
    assert len(facts["bins"]) * facts["width_s"] >= 5000
