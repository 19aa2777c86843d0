"""What steps amount to, and the result and the page that it stands in."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from drapps.errors import PipelineError
from drapps.scenario import Run, html
from drapps.scenario.measures import Steps, bins, measure
from drapps.scenario.result import SegmentResult


def steps(*rows):
    """Steps of (end, wait, samples)."""
    series = Steps()
    for row in rows:
        series.add(*row)
    return series


def even(seconds, period, samples, wait=0.0):
    count = round(seconds / period)
    return [((number + 1) * period, wait, samples) for number in range(count)]


def test_a_rate_counts_a_step_over_the_time_that_it_took():
    series = steps((1.0, 0.2, 10), (2.0, 0.4, 30), (4.0, 1.0, 40))
    whole = measure(series, 0, 4)
    assert whole.rate == pytest.approx(20)
    assert whole.stall_share == pytest.approx(1.6 / 4)
    # Half of the first step and half of the second.
    assert measure(series, 0.5, 1.5).rate == pytest.approx(5 + 15)
    assert measure(series, 2, 3).rate == pytest.approx(20)


def test_a_stretch_has_the_waits_of_the_steps_that_end_in_it():
    series = steps(*even(2, 0.1, 1, wait=0.01), (2.2, 0.15, 1), (2.4, 0.1, 1))
    first, second = measure(series, 0, 2.1), measure(series, 2.1, 3)
    assert first.stall_share == pytest.approx(0.1)
    assert first.p95_wait == pytest.approx(0.01)
    assert second.stall_share == pytest.approx(0.25 / 0.4)
    assert 0.1 < second.p95_wait < 0.15


def test_a_stretch_without_a_step_is_all_stall():
    nothing = measure(steps((1.0, 0.1, 5), (9.0, 8.0, 5)), 2, 4)
    assert nothing.stall_share == 1
    assert nothing.p95_wait is None
    assert nothing.rate == pytest.approx(5 / 8)
    assert measure(steps(), 0, 4).rate == 0
    assert measure(steps(), 0, 4).time_to_best is None


def test_the_best_is_reached_where_a_window_of_two_seconds_is_as_fast():
    slow, fast = even(3, 0.1, 10), even(7, 0.1, 20)
    series = steps(*slow, *((3 + end, wait, samples) for end, wait, samples in fast))
    assert measure(series, 0, 10).time_to_best == pytest.approx(3.0)
    assert measure(series, 3, 10).time_to_best == 0
    assert measure(series, 0, 1.9).time_to_best is None
    # 96 % of the best is reached when 0.2 s of the window are as slow as that; bins are 0.5 s.
    dip = steps(*even(4, 0.1, 20), (4.4, 0.4, 20), *((4.4 + e, w, s) for e, w, s in fast))
    assert measure(dip, 0, 11).time_to_best == 0


def test_bins_are_half_a_second_wide_and_whole():
    assert bins(steps(*even(2, 0.25, 10)), 1.75) == pytest.approx([40, 40, 40])
    assert bins(steps((2.0, 0, 20)), 2) == pytest.approx([10] * 4)


def made_run(**changes):
    segment = SegmentResult(0, "", "{}", 0.0, 4.0, 1000.0, 0.1, 1e-4, 0.002, 0.5, 0.0)
    second = SegmentResult(1, "a <name>", "{}", 4.0, 8.0, 0.0, 1.0, None, None, None, 0.0)
    knobs = [[at / 2, {"workers": 1 + (at > 4), "io_depth": 8}] for at in range(16)]
    decision = {"time_s": 1.0, "knob": "workers", "before": 1, "applied": 2, "why": "x", "held": ""}
    values = {
        "scenario": {"name": "made", "about": "Made up & checked."},
        "loader": {"kind": "drapps", "policy": None, "settings": None},
        "label": "DRAPPS",
        "machine": {"kernel": "6", "machine": {"cpus": 2.0, "memory_bytes": 2**34}},
        "segments": [segment, second],
        "rates": [100.0] * 16,
        "knobs": knobs,
        "decisions": [decision],
    }
    return Run(**{**values, **changes})


class Page(HTMLParser):
    """Checks that tags end in their order, and that nothing is loaded."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_and_plots_what_moved():
    stock = made_run(label="stock, 2 workers", loader={"kind": "stock", "workers": 2}, knobs=[])
    text = html([made_run(), stock, made_run(skipped="no <right>")])
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in page.seen
    drawings = text.split("<svg")[1:]
    assert len(drawings) == 2
    for drawing in drawings:
        ET.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")
    for words in ("Knob: workers", "io_depth at 8", "a &lt;name&gt;", "no &lt;right&gt;", "10.0%"):
        assert words in text


def test_a_result_is_kept_as_json_and_comes_back(tmp_path):
    run = made_run()
    run.save(tmp_path / "run.json")
    kept = json.loads((tmp_path / "run.json").read_text())
    assert Run.from_json(kept).to_json() == kept
    assert Run.from_json(kept).segments == run.segments
    with pytest.raises(FileExistsError):
        run.save(tmp_path / "run.json")
    with pytest.raises(PipelineError, match="of schema 1"):
        Run.from_json({**kept, "schema": 2})


def test_the_table_has_a_line_for_each_segment():
    lines = str(made_run()).splitlines()
    assert len(lines) == 4
    assert "1,000" in lines[2]
    assert str(made_run(skipped="why")).endswith("skipped: why")
