"""The benchmarks' arithmetic: figures, ratios and what stands in the JSON."""

import json
import math
import random

import pytest

from benchmarks import feed, report
from benchmarks.journal import Journal

FAST = [
    {"samples": 300, "seconds": 1.0, "cpu_s": 0.6, "gaps_s": [0.1] * 99 + [0.9]},
    {"samples": 100, "seconds": 1.0, "cpu_s": 0.4, "gaps_s": [0.1] * 100},
    {"samples": 200, "seconds": 1.0, "cpu_s": 0.2, "gaps_s": [0.1] * 98 + [0.5] * 2},
]
SLOW = [
    {"samples": 100, "seconds": 1.0, "cpu_s": 1.0},
    {"samples": 100, "seconds": 1.0, "cpu_s": 1.0},
    {"samples": 100, "seconds": 2.0, "cpu_s": 1.0},
]


def test_figures_are_medians_over_rounds_or_pooled_over_them():
    figures = report.figures(FAST, {"first_batch_s": [0.3, 0.1, 0.2]}, 7)
    assert figures["samples_per_s"] == 200
    assert figures["cpu_s_per_sample"] == pytest.approx(1.2 / 600)
    assert figures["p99_gap_s"] == 0.5
    assert figures["first_batch_s"] == 0.2
    assert figures["peak_bytes"] == 7


def test_what_a_contestant_does_not_have_is_none():
    figures = report.figures(SLOW, {}, 7)
    assert figures["p99_gap_s"] is None
    assert figures["first_batch_s"] is None


def test_a_ratio_is_the_median_of_the_rounds_ratios_not_the_ratio_of_medians():
    assert report.ratio(FAST, SLOW) == 3.0


@pytest.mark.parametrize(
    ("count", "left"), [(1, 0), (2, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5)]
)
def test_an_interval_leaves_out_as_many_ends_as_the_table_of_the_sign_test_says(count, left):
    values = [float(i) for i in range(count)]
    random.Random(count).shuffle(values)
    assert report.interval(values) == (left, count - 1 - left)


def test_intervals_cover_the_median_as_often_as_they_say():
    draws = random.Random(3)
    covered = 0
    for _ in range(2000):
        low, high = report.interval([draws.expovariate(1.0) for _ in range(9)])
        covered += low <= math.log(2) <= high
    assert 0.945 < covered / 2000 < 0.98  # 96.1 % for nine values


def test_a_ratio_of_each_round_is_kept_as_median_and_interval():
    result = report.Result("some", limits={"gap": 2.0})
    result.add_ratio("gap", [3.0, 1.0, 2.5])
    assert (result.ratios, result.intervals) == ({"gap": 2.5}, {"gap": (1.0, 3.0)})
    assert "2.500   1.000 to 3.000   (wanted: at most 2)" in report.table(result)


def test_a_case_without_throughput_stands_in_the_table_too():
    text = report.table(report.Result("some", {"start": {"drapps": {"first_batch_s": 0.25}}}))
    assert text.splitlines()[0].split() == ["first", "batch", "ms"]
    assert text.splitlines()[1].split() == ["start", "drapps", "250"]


def test_a_journal_is_taken_up_where_it_was_cut_off_and_by_nobody_else(tmp_path):
    file = tmp_path / "rounds.jsonl"
    journal = Journal(file, {"seconds": 3}, fresh=False)
    journal.keep("round", "a", 0, result={"rate": 1.5})
    journal.keep("round", "a", 1, result={"rate": 2.5})
    file.write_text(file.read_text()[:-9])
    taken_up = Journal(file, {"seconds": 3}, fresh=False)
    assert taken_up.continued == 1
    assert taken_up.get("round", "a", 0) == {"rate": 1.5}
    assert taken_up.get("round", "a", 1) is None
    assert Journal(file, {"seconds": 4}, fresh=False).continued == 0


def test_json_and_dated_copy_hold_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "BUILD", tmp_path / "build")
    monkeypatch.setattr(report, "KEPT", tmp_path / "kept")
    pytest.importorskip("torchvision")
    result = report.Result("some", ratios={"stock_444": 3.5}, wanted={"stock_444": 3.0})
    assert len(report.save(result, 0.5, keep=False)) == 1
    latest, kept = report.save(result, 0.5, keep=True)
    assert latest.read_text() == kept.read_text()
    content = json.loads(latest.read_text())
    assert content["ratios"] == {"stock_444": 3.5}
    assert content["machine"]["load_before"] == 0.5
    assert {"scenario", "commit", "figures", "rounds"} <= content.keys()


def test_the_table_names_every_figure_and_what_a_ratio_should_be():
    figures = {"444": {"drapps": report.figures(FAST, {}, 3 << 20)}}
    result = report.Result("some", figures, {"stock_444": 3.5}, {"stock_444": 3.0})
    text = report.table(result)
    assert "444 drapps" in text
    assert "3.500   (wanted: at least 3)" in text


def test_batches_are_taken_in_whole_groups():
    samples, ends = feed._take(iter([64] * 100), group=3, seconds=0.0)
    assert (samples, len(ends)) == (3 * 64, 3)
