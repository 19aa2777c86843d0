"""The benchmarks' arithmetic: figures, ratios and what stands in the JSON."""

import json

import pytest

from benchmarks import feed, report

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
