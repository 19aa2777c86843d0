"""The comparison of policies: its cells, its arithmetic, and what it says."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from benchmarks.control import learned, live, summary
from benchmarks.control.arms import ARMS, CALIBRATED, DEFAULT, ORACLE, POLICIES, STATIC, rows_of
from benchmarks.control.cells import EVENTS, NONE, SCORED, TUNED, cells
from benchmarks.control.measure import measured
from benchmarks.control.page import page
from benchmarks.control.plots import html
from benchmarks.control.sensitivity import decided, scaled
from drapps import simulation
from drapps.simulation import learning
from drapps.simulation.cases import rates_of


def row(event: str, machine: str = "h100", **rates: tuple[float, ...]) -> dict:
    """A row of two segments, or of one, whose arms all have these rates or half of the best."""
    count = len(next(iter(rates.values())))
    best = [100.0] * count
    arms = {
        arm: [
            {"rate": rate, "load_mean": 0.01, "load_p95": 0.02, "memory": 1e9, "moves": 1}
            for rate in rates.get(arm.replace(" ", "_"), (50.0,) * count)
        ]
        for arm in ARMS
    }
    return {
        "machine": machine,
        "workload": "python",
        "event": event,
        "variation": 1,
        "best": best,
        "knobs": [{}, {"knob": "io_depth", "static": 8, "best": 64, "lost": 0.5}][:count],
        "signals": [[{"feature": "storage.latency", "before": 1.0, "now": 4.0}]][: count - 1],
        "arms": arms,
    }


def content(rows: list[dict]) -> dict:
    return {
        "date": "2026-11-26T00:00:00+00:00",
        "commit": "0" * 40,
        "machine": {"cpu": "some", "cores": 2},
        "seconds": 60.0,
        "budget": 3,
        "scored": [1],
        "varied": [101],
        "compared": "rule",
        "tuned": {
            "initial": {"name": "initial", "parameters": {}},
            "rule": {
                "name": "rule",
                "parameters": {"stall": 0.1},
                "tuned": {"score": 0.9, "default": 0.8, "evaluations": 3},
            },
        },
        "rows": rows,
        "sensitivity": [
            {
                "machine": "h100",
                "number": "gpu.copy",
                "factor": 2.0,
                "cells": 20,
                "flips": [
                    {"workload": "python", "event": "quota", "before": "rule", "after": "default"}
                ],
            }
        ],
    }


def test_a_value_is_the_mean_over_segments_and_means_add_up():
    rows = [row("quota", default=(100, 50)), row(NONE, default=(80,), oracle=(100,))]
    assert summary.value(rows[0], DEFAULT) == pytest.approx(0.75)
    assert summary.mean(rows, DEFAULT) == pytest.approx((0.75 + 0.8) / 2)
    assert summary.stationary(rows) + summary.changing(rows) == [rows[1], rows[0]]
    groups = summary.grouped(rows, "event")
    assert sum(len(each) for each in groups.values()) == len(rows)
    weighted = sum(summary.mean(each, DEFAULT) * len(each) for each in groups.values())
    assert weighted / len(rows) == pytest.approx(summary.mean(rows, DEFAULT))
    assert summary.gains(rows, "rule") == pytest.approx([0.5 / 0.75 - 1, 0.5 / 0.8 - 1])
    assert summary.fact(rows, DEFAULT, "load_mean") == pytest.approx(0.01)
    assert summary.fact(rows, DEFAULT, "gpu_idle") is None


def test_the_report_says_what_the_numbers_do():
    rows = [
        row("quota", default=(100, 50), oracle=(100, 100), tuned_static=(100, 40), rule=(90, 90)),
        row(NONE, default=(80,), oracle=(100,), aimd=(104,)),
    ]
    text = page(content(rows))
    assert "**The best policy** in the mean, `aimd`" in text or "`rule`" in text
    assert "`io_depth` 8 → 64 (-50%)" in text
    assert "`storage.latency` 1.00 → 4.00" in text
    assert "| h100 | python | aimd | 1.040 |" in text
    assert "1 of 20 verdicts come out otherwise, 1 the other way round" in text
    assert "| rule | 0.800 | 0.900 | 3 | stall 0.1 |" in text
    assert "nan" not in text
    assert html(content(rows)).count("<svg") == 4


def test_cells_are_the_same_again_and_other_in_another_variation():
    machine = simulation.load("laptop")
    first, again, other = (list(cells(machine, number)) for number in (1, 1, 2))
    assert first == again
    assert [cell.event for cell in first] == [cell.event for cell in other]
    assert len(first) == sum(map(len, EVENTS.values()))
    assert len({cell.key for cell in [*first, *other]}) == 2 * len(first)
    assert not set(SCORED) & set(TUNED)
    for cell, elsewhere in zip(first, other, strict=True):
        assert cell.case != elsewhere.case
        assert (cell.event == NONE) == (len(cell.case.names) == 1)
        noise = [segment["world"]["workload"]["noise"] for segment in cell.case.segments]
        assert all((each == 0) == (cell.event == NONE) for each in noise)
        for before, now in pairwise(cell.case.segments):
            assert before["world"] != now["world"]


@pytest.mark.parametrize("machine", simulation.shipped())
def test_every_cell_of_every_machine_can_be_simulated(machine):
    for cell in cells(simulation.load(machine), 1):
        assert all(rate >= 0 for rate in rates_of(rows_of(DEFAULT, cell, {})))


def test_a_row_holds_everyone_to_the_best_that_is_known():
    [cell] = [
        cell
        for cell in cells(simulation.load("starved-container"), 1)
        if (cell.workload, cell.event) == ("photos-storage", "latency rises")
    ]
    entry = measured(cell, {"aimd": {"stall": 0.05}})
    assert set(entry["arms"]) == set(ARMS)
    assert summary.value(entry, ORACLE) >= summary.value(entry, STATIC)
    assert all(len(facts) == len(entry["best"]) == 2 for facts in entry["arms"].values())
    assert entry["oracle"][1]["io_depth"] > entry["static"]["io_depth"]
    assert summary.knob_and_signals(entry)[0]["knob"] == "io_depth"
    assert "storage.latency" in [each["feature"] for each in entry["signals"][0]]
    assert entry == measured(cell, {"aimd": {"stall": 0.05}})


def test_every_assumed_number_of_every_machine_can_be_changed():
    for name in simulation.shipped():
        machine = simulation.load(name)
        for number in machine.assumed:
            changed = scaled(machine, number, 2.0)
            assert changed != machine, number
            assert changed.name == machine.name
            cell = next(cells(changed, 1, nominal=machine))
            step = cell.case.segments[0]["world"]["consumer"]["step"]
            assert step == next(cells(machine, 1)).case.segments[0]["world"]["consumer"]["step"]


def test_a_verdict_is_clear_or_none():
    assert decided((110, 90), (100, 100), "rule") == "neither"
    assert decided((110, 100), (100, 100), "rule") == "rule"
    assert decided((90, 90), (100, 100), "rule") == "default"
    assert CALIBRATED in POLICIES


def test_a_live_block_cancels_what_drifts_and_its_bound_is_below_the_mean():
    drifting = [(100.0,), (111.0,), (122.1,), (120.0,)]
    first, second = live.pairs(drifting)
    assert first == pytest.approx(0.11)
    assert second == pytest.approx(0.0175)
    assert live.again(drifting) == pytest.approx(0.2)
    assert live.lower_bound([0.1, 0.1, 0.1]) == pytest.approx(0.1)
    assert live.lower_bound([0.0, 0.2]) == pytest.approx(0.1 - 3.078 * 0.1)
    blocks = {"steady": [drifting, drifting]}
    machine = {"cpu": "some", "cores": 2}
    content = {"date": "2026-11-26", "commit": "0", "machine": machine, "blocks": blocks}
    text = live.page({**content, "policy": {"name": "mpc"}})
    assert "2 blocks of four runs" in text
    assert "A cut: a whole run has 2 blocks of each of 4 scenarios" in text
    assert "A cut" not in live.page(
        {
            **content,
            "policy": {"name": "mpc"},
            "blocks": dict.fromkeys(live.SCENARIOS, blocks["steady"]),
        }
    )
    assert "The worst of 4 pairs is +1.7%" in text or "+1.8%" in text


def test_a_learned_policy_is_compared_in_the_cells_of_the_kept_rows():
    options = {"decisions": 64, "hidden": 4, "worlds": 1, "environments": 8, "steps": 8}
    policy = learning.policy_of(learning.train(options, [1, 2]), options)
    kept = []
    for cell in list(cells(simulation.load("laptop"), 1))[:2]:
        rates = rates_of(cell.case.run(json.dumps(cell.case.default)))
        same = {"workload": cell.workload, "best": [2 * max(rates)] * len(rates)}
        kept.append(row(cell.event, "laptop", default=rates) | same)
    scores = learned.measured(policy, kept)
    assert set(scores["seeds"]) == {"1", "2"}
    for seed in scores["seeds"].values():
        assert 0 < seed["means"]["all"] <= 1
        assert seed["means"]["all"] == seed["means"][kept[0]["workload"]]


def test_the_report_on_learned_policies_shows_every_seed():
    means = {"all": 0.9, "changing": 0.88, "steady": 0.98}
    seed = {"p5_over_default": -0.01, "worst_over_default": -0.2, "worse_by_3": 0.02}
    seeds = {
        str(number): {**seed, "means": means | {"all": value}, "most_where_steady": 1.0}
        for number, value in enumerate((0.93, 0.89))
    }
    text = learned.page(
        {
            "date": "2026-11-26",
            "commit": "0" * 40,
            "machine": {"cpu": "some", "cores": 2},
            "rows": 360,
            "others": dict.fromkeys(learned.OTHERS, means),
            "arms": [{"options": {"decisions": 5000, "reward": "paper-a"}, "seeds": seeds}],
        }
    )
    assert "| ppo, 5,000 decisions, reward paper-a | 0.910 | 0.880 | 0.980 |" in text
    assert "0.930, 0.890 | +1.00 ± 25.41 points | 2.83 | -0.010 | -0.200 | 2.0% | 1.000" in text


def test_an_interval_is_that_of_students_t():
    mean, spread, half = learned.interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean, round(spread, 4), round(half, 3)) == (3.0, 1.5811, 1.963)
    assert learned.interval([2.0]) == (2.0, 0.0, 0.0)
