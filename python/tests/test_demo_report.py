from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from demo import page, report, summary
from demo.results import Results
from drapps.scenario import plots


def epoch(seconds: float, waited: float, accuracy: float) -> dict[str, Any]:
    return {
        "event": "epoch",
        "seconds": seconds,
        "waited": waited,
        "samples": 1000,
        "cpu_seconds": 2 * seconds,
        "device_seconds": None,
        "loss": 1.0,
        "accuracy": accuracy,
    }


def series(rate: float, moved: bool, explained: dict[str, Any] | None) -> dict[str, Any]:
    steps = [[number * 0.1, 0.02, rate / 10] for number in range(1, 101)]
    knobs = [
        [0.0, {"workers": 2, "io_depth": 8}],
        [5.0, {"workers": 3 if moved else 2, "io_depth": 8}],
    ]
    return {"steps": steps, "settings": knobs, "burst": [3.0, 6.0], "explain": explained}


@pytest.fixture
def results() -> Results:
    entry = {
        "time_s": 4.5,
        "knob": "workers",
        "before": 2,
        "proposed": 3,
        "applied": 3,
        "why": "tries <workers>",
        "held": None,
        "step_ms_before": 80.0,
        "step_ms_after": None,
    }
    return Results(
        data="2508 tiles",
        machine="2 cores",
        probe={"train": {0: 200.0, 2: 400.0}, "load": {0: 250.0, 2: 500.0}, "drapps": {0: 1900.0}},
        workers=2,
        accelerator_workers=2,
        step_s=0.067,
        device="CPU",
        lifted="lifted: a folder & its transforms",
        training={
            "stock": {
                "epochs": [epoch(4.0, 2.0, 0.5), epoch(4.0, 2.0, 0.8)],
                "peak_bytes": 900 << 20,
            },
            "DRAPPS": {
                "epochs": [epoch(2.0, 0.1, 0.77), epoch(1.0, 0.1, 0.82)],
                "peak_bytes": 400 << 20,
            },
        },
        accelerated={
            "stock": series(300, False, None),
            "DRAPPS, initial": series(900, False, {"decisions": {"entries": []}}),
            "DRAPPS, hill_climb": series(950, True, {"decisions": {"entries": [entry]}}),
        },
    )


def test_the_table_holds_what_was_measured(results: Results) -> None:
    rows = dict(summary.training_table(results.training))
    assert rows["epoch time (median)"] == {"stock": "4.00 s", "DRAPPS": "1.50 s"}
    assert rows["samples/s"] == {"stock": "250", "DRAPPS": "667"}
    assert rows["time the step waited"] == {"stock": "4.0 s (50%)", "DRAPPS": "0.2 s (7%)"}
    assert rows["CPU time per sample"] == {"stock": "8.00 ms", "DRAPPS": "3.00 ms"}
    assert rows["peak memory"] == {"stock": "900 MiB", "DRAPPS": "400 MiB"}
    assert rows["held-out accuracy"] == {"stock": "80.0%", "DRAPPS": "82.0%"}
    assert rows["time to 76.0% accuracy"] == {"stock": "8.0 s", "DRAPPS": "2.0 s"}
    assert "GPU idle" not in rows


def test_gpu_idle_is_in_the_table_where_there_is_a_gpu(results: Results) -> None:
    for run in results.training.values():
        for figures in run["epochs"]:
            figures["device_seconds"] = figures["seconds"] / 4
    rows = dict(summary.training_table(results.training))
    assert rows["GPU idle"] == {"stock": "75%", "DRAPPS": "75%"}


def test_an_accuracy_that_is_never_reached_says_so(results: Results) -> None:
    results.training["DRAPPS"]["epochs"] = [epoch(2.0, 0.1, 0.3)]
    rows = dict(summary.training_table(results.training))
    assert rows["time to 76.0% accuracy"]["DRAPPS"] == "not reached"


def test_phases_are_told_apart_by_when_the_load_ran() -> None:
    steps = [
        [0.5 * n, 0.25 if 4 < 0.5 * n <= 8 else 0.0, 30.0 if 0.5 * n > 4 else 60.0]
        for n in range(1, 25)
    ]
    rates = summary.phase_rates(steps, [4.0, 8.0])
    assert rates["before"] == pytest.approx((120.0, 0.0))
    assert rates["during"] == pytest.approx((60.0, 0.5))
    assert rates["after"] == pytest.approx((60.0, 0.0))


def test_the_rate_over_time_is_that_of_the_last_window() -> None:
    steps = [[0.25 * n, 0.0, 10.0 if n <= 20 else 20.0] for n in range(1, 41)]
    curve = dict(summary.rate_curve(steps, window_s=1.0))
    assert curve[4.0] == pytest.approx(40.0)
    assert curve[10.0] == pytest.approx(80.0)
    assert min(curve) == pytest.approx(1.25)


def test_the_rate_of_even_steps_is_even_whatever_the_window() -> None:
    curve = summary.rate_curve([[0.34 * n, 0.0, 64.0] for n in range(1, 41)], window_s=1.5)
    assert [rate for _, rate in curve] == pytest.approx([64 / 0.34] * len(curve))


def test_decisions_are_read_from_a_log_and_from_a_list() -> None:
    assert summary.decisions({"decisions": {"entries": [{"knob": "a"}]}}) == [{"knob": "a"}]
    assert summary.decisions({"decisions": []}) == []


def test_the_terminal_shows_both_tables_and_the_decisions(results: Results) -> None:
    text = report.terminal(results)
    assert "num_workers=2" in text
    assert re.search(r"samples/s +250 +667", text)
    assert re.search(r"DRAPPS, hill_climb +9\d\d \(20%\)", text)
    assert "workers 2 → 3" in text
    assert max(map(len, text.splitlines())) <= 100


class Tags(HTMLParser):
    """Checks that tags are closed in order, and gathers what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_loads_nothing_and_escapes(results: Results) -> None:
    text = page.html(results)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.loads == []
    assert "url(" not in text
    assert "@import" not in text
    assert "tries &lt;workers&gt;" in text
    assert "folder &amp; its" in text


def test_the_page_says_how_the_step_was_chosen_and_who_is_given_it(results: Results) -> None:
    results.accelerator_workers = 3
    text = page.html(results)
    assert "sleeps, 67 ms a batch" in text
    assert "2.5 times what DRAPPS needed for a batch of 64 when it loaded alone" in text
    assert "All runs are given the same step" in text
    assert "without a network, which is 3 here" in text


def test_the_page_plots_what_moved_and_names_what_did_not(results: Results) -> None:
    text = page.html(results)
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 3
    for drawing in drawings:
        ET.fromstring(drawing)
    assert "Knob: workers" in text
    assert "Not moved: io_depth at 8" in text
    for number in ("250", "667", "82.0%", "1,900"):
        assert number in text


def test_a_plot_keeps_its_points_inside() -> None:
    lines = [plots.Line("a", [(0.0, 3.0), (7.0, 11.0)], "stock", dots=True)]
    drawing = ET.fromstring(plots.plot(lines, "x", "y", rule=(12.0, "most")))
    circles = drawing.findall("circle")
    assert len(circles) == 2
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < 860
        assert 0 < float(circle.attrib["cy"]) < 300
    assert float(circles[1].attrib["cy"]) < float(circles[0].attrib["cy"])


@pytest.mark.parametrize("most", [0.013, 1.0, 7.3, 99.0, 2500.0])
def test_ticks_are_few_and_within_range(most: float) -> None:
    ticks = plots.ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] <= most
    assert 4 <= len(ticks) <= 8


def test_the_raw_numbers_are_kept(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path / "results.json")
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["training"]["stock"]["epochs"][1]["accuracy"] == 0.8
    assert kept["step_s"] == 0.067
