"""The arithmetic of the headroom table, on numbers of its own making."""

from __future__ import annotations

import pytest

from benchmarks.headroom import verdict
from benchmarks.headroom.compose import best_static, oracle, value
from benchmarks.headroom.page import page
from benchmarks.headroom.search import KEPT, LONG, SHORT, Searched, search
from benchmarks.headroom.signals import departure
from benchmarks.headroom.verdict import noise_of, ratio


def test_the_search_gives_most_time_to_the_best_and_finds_it_amid_noise():
    true = {f"{number}": 100.0 + number for number in range(12)}
    noise = {0: 0.0, 1: 5.0, 2: 0.0}
    ran: list[tuple[str, float, int]] = []

    def measured(name: str, seconds: float, time: int) -> float:
        ran.append((name, seconds, time))
        return true[name] + (noise[time] if name == "8" else 0.0)

    outcome = search(true, measured)
    assert outcome.finalists[0] == "11"
    assert outcome.best == pytest.approx(111.0)
    assert [len([one for one in ran if one[2] == time]) for time in range(3)] == [12, *KEPT]
    assert {seconds for _, seconds, time in ran if time == 2} == {LONG}
    assert outcome.rates["0"] == 100.0
    whole = 2 * SHORT + LONG
    assert outcome.rates["8"] == pytest.approx((SHORT * (108 + 113) + LONG * 108) / whole)


def segments(*rates: dict[str, float]) -> list[Searched]:
    return [Searched(each, tuple(sorted(each, key=lambda name: -each[name])[:2])) for each in rates]


def test_the_best_static_settings_are_those_with_the_greatest_mean_share_of_each_best():
    searches = segments({"a": 100, "b": 60, "c": 90}, {"a": 10, "b": 40, "c": 30})
    assert best_static(searches) == "c"  # .9 and .75, against 1 and .25, .6 and 1


def test_the_oracle_moves_only_for_what_is_no_noise():
    searches = segments({"a": 100, "b": 102}, {"a": 10, "b": 40})
    assert oracle(searches, "a") == ["a", "b"]


def test_a_value_is_the_mean_share():
    assert value([50, 10], [100, 10]) == 0.75


@pytest.mark.parametrize(
    ("oracle_over", "static_over", "expected"),
    [
        ([1.2, 1.2, 1.2], [1.0, 1.0, 1.0], "changing"),
        ([1.2, 1.2, 1.01], [1.0, 1.0, 1.0], "none"),  # within the noise once
        ([1.09, 1.09, 1.09], [1.3, 1.3, 1.3], "start-up"),
        ([1.2, 1.2, 1.2], [1.3, 1.3, 1.3], "changing and start-up"),
    ],
)
def test_headroom_counts_beyond_the_noise_in_every_round(oracle_over, static_over, expected):
    again = ratio([98, 101, 100], [100, 100, 100])
    assert noise_of(again) == pytest.approx(0.02)
    ones = [1.0] * 3
    judgement = verdict.verdict(ratio(oracle_over, ones), ratio(static_over, ones), again)
    assert judgement == expected


def test_ratios_near_a_threshold_ask_for_more_rounds():
    assert ratio([1.06, 1.3, 1.0], [1.0] * 3).near(verdict.CHANGING)
    assert not ratio([1.0, 1.0, 1.3], [1.0] * 3).near(verdict.CHANGING)


def test_two_rounds_suffice_where_both_lie_far_below_the_threshold():
    assert ratio([1.04, 0.9], [1.0] * 2).below(verdict.CHANGING)
    assert not ratio([1.06, 0.9], [1.0] * 2).below(verdict.CHANGING)  # near it
    assert not ratio([1.3, 0.9], [1.0] * 2).below(verdict.CHANGING)


def series(values: list[float]) -> list[tuple[float, float]]:
    return [(0.5 * place, value) for place, value in enumerate(values)]


def test_a_number_tells_an_event_once_it_stays_beyond_what_it_was():
    usual = [1.0, 1.2] * 20  # until 20 s
    event = departure(series([*usual, 1.1, 9.0, 1.1, 3.0, 3.0, 3.0, 3.0]), 0.0, 20.0, 30.0)
    assert event is not None
    after, factor = event
    assert after == 1.5  # not at the single 9
    assert factor == pytest.approx(3.0 / 1.1)


def test_what_was_0_before_has_no_factor():
    assert departure(series([0.0] * 40 + [5.0] * 5), 0.0, 20.0, 30.0) == (0.0, None)


def test_a_number_that_stays_within_its_range_tells_nothing():
    assert departure(series([1.0, 1.2] * 40), 0.0, 20.0, 40.0) is None


def test_the_page_lists_rows_those_that_were_skipped_and_where_all_was_measured():
    machine = {"cpu": "a CPU", "cores": 2}
    place = {"about": "", "date": "2030-01-02T03:04:05", "commit": "abc", "machine": machine}
    ratios = {"oracle": [1.2, 1.3, 1.4], "static": [1.0] * 3, "again": [0.97, 1.0, 1.01]}
    row = {
        "scenario": "steps",
        "static": "workers 2",
        "oracle": ["workers 2", "workers 1"],
        "ratios": ratios,
        "verdict": "changing",
        "start": None,
        "segments": [{"name": ""}, {"name": "slow"}],
        "signals": [
            [
                {"name": "storage.waited.p50", "after": 1.5, "factor": 8.0},
                {"name": "storage.refusals", "after": 2.0, "factor": None},
            ]
        ],
    }
    text = page([row | place, {"scenario": "quota", "skipped": "no cgroup"} | place])
    line = next(line for line in text.splitlines() if line.startswith("| steps | changing"))
    assert "1.30 (1.20 to 1.40)" in line
    assert "| 0.97 |" in line
    assert "| quota | skipped: no cgroup |" in text
    assert "| steps | 1 slow | `storage.waited.p50` at 8 of what it was, after 1.5 s, " in text
    assert "`storage.refusals` up from 0, after 2.0 s |" in text
    assert text.count("2030-01-02") == 2
