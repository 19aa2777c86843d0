"""The cases of the benchmark `watch`, and its table."""

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.watch import child, rivals, samples, scenario
from benchmarks.watch.cases import ACCEPTED, NOT_BOUND, SMALL, Case, draw


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_a_draw_is_as_it_is_described(seed):
    cases = draw(seed, 60)
    assert cases == draw(seed, 60) != draw(seed + 1, 60)
    assert [case.number for case in cases] == list(range(60))
    quiet = [case for case in cases if set(case.causes) & set(NOT_BOUND)]
    assert len(quiet) >= 15 and any("small_wait" in case.causes for case in quiet)
    assert sum(len(case.causes) == 2 for case in cases) == 6
    assert {cause for case in cases for cause in case.causes} <= ACCEPTED.keys()
    assert {case.loader for case in cases} == {"stock", "drapps", "tensorflow"}
    for case in cases:
        low = 0.01 if set(case.causes) & set(SMALL) else 0.05
        assert all(low <= cost <= 0.5 for cost in case.cost)


def test_a_cause_that_is_removed_costs_nothing():
    case = next(case for case in draw(1, 60) if len(case.causes) == 2)
    left = case.without(case.causes[0])
    assert left.causes == case.causes[1:] and left.cost == case.cost[1:]
    seconds = sum(child.spent_by(case.described(), 0)[0].values())
    assert sum(child.spent_by(left.described(), 0)[0].values()) < seconds


def test_steps_wait_for_what_a_case_costs():
    for case in draw(3, 60):
        if case.causes[0] in ("slow_read", "slow_decode", "collate") and len(case.causes) == 1:
            spent, workers, _ = child.spent_by(case.described(), 0)
            making, step = 8 * sum(spent.values()) / workers, case.described()["step_s"]
            assert 1 - step / making == pytest.approx(case.cost[0], abs=0.03)


def test_as_many_workers_as_cores_would_do_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(child, "cores", lambda: 2.0)
    for cost in (0.06, 0.4):
        case = Case(0, ("many_workers",), "stock", (cost,), 1).described()
        spent, workers, _ = child.spent_by(case, 0)
        making = 8 * sum(spent.values())  # CPU seconds of a batch
        assert workers == 8
        assert (2 - workers * child.POLLS) / making < 1 / case["step_s"]
        assert (2 - 2 * child.POLLS) / making > 0.95 / case["step_s"]


def test_what_a_batch_takes_anyway_is_no_wait():
    case = Case(0, ("no_workers",), "stock", (0.2,), 1).described()
    spent, workers, _ = child.spent_by(case | {"own_s": 0.004}, 0)
    assert workers == 0 and 8 * sum(spent.values()) == pytest.approx(0.01 - 0.004)


def test_work_that_takes_too_long_once_is_left_out_the_next_times(monkeypatch):
    clock = [0.0]

    def work():
        clock[0] += 0.003

    monkeypatch.setattr(samples.time, "thread_time", lambda: clock[0])
    for _ in range(100):
        samples.repeated("test", work, 0.001)
    assert clock[0] == pytest.approx(0.1, abs=0.003)


def test_memory_that_runs_out_has_its_share_of_each_batch():
    case = Case(0, ("memory",), "stock", (0.3,), 1).described()
    spent, _, _ = child.spent_by(case, 0)
    assert spent["pages"] > 0.8 * sum(spent.values())


def test_what_was_said_of_each_cause_is_a_table():
    table = Counter({("slow_read", "storage"): 3, ("collate", "storage"): 1})
    assert scenario.confusion(table).splitlines() == [
        "| injected | storage |",
        "|---|---|",
        "| collate | 1 |",
        "| slow_read | 3 |",
    ]


@pytest.mark.parametrize(
    ("share", "cause", "right"),
    [
        (0.3, "slow_read", True),
        (0.1, "slow_read", False),
        (0.1, "consumer", True),
        (0.3, "consumer", False),
    ],
)
def test_loadtune_says_by_its_threshold_whether_data_are_waited_for(
    monkeypatch, share, cause, right
):
    monkeypatch.setattr(rivals.environment, "ensure", lambda name, _pins: name)
    case = Case(0, (cause,), "stock", (0.3,), 1)
    answer = rivals.says("loadtune", case, 4.0, lambda _words: json.dumps({"waits": share}))
    assert answer == {"says": f"{share:.0%} wait", "bound_right": right}


@pytest.mark.parametrize(
    ("kind", "right"), [("INPUT_BOUND", True), ("COMPUTE_BOUND", False), ("BALANCED", False)]
)
def test_traceml_says_so_in_its_summary(monkeypatch, kind, right):
    def run(words):
        folder = Path(words[words.index("--logs-dir") + 1], "case")
        folder.mkdir()
        summary = {"primary_diagnosis": {"kind": kind}}
        (folder / "final_summary.json").write_text(json.dumps(summary))
        return ""

    monkeypatch.setattr(rivals.environment, "ensure", lambda name, _pins: f"bin/{name}")
    case = Case(0, ("slow_read",), "stock", (0.3,), 1)
    assert rivals.says("traceml", case, 4.0, run) == {"says": kind, "bound_right": right}


def test_what_a_rival_does_not_run_says_why(monkeypatch):
    monkeypatch.setattr(rivals.environment, "ensure", lambda name, _pins: name)
    for rival, case in (
        ("loadtune", Case(0, ("slow_rank",), "stock", (0.3,), 1)),
        ("traceml", Case(0, ("slow_read",), "drapps", (0.3,), 1)),
    ):
        assert "bound_right" not in rivals.says(rival, case, 4.0, lambda _words: "")
