"""docs/reference/observation.md lists the numbers of an observation, as the core describes them."""

import re

import drapps
import drapps.trace
from drapps import _core
from tools.docs.numbers import PAGE, lanes, page, rows


def test_the_page_lists_what_the_core_describes():
    assert page(PAGE.read_text()) == PAGE.read_text(), "run python -m tools.docs.numbers"
    assert {row.kind for row in rows()} == {"counter", "gauge", "spread"}


def test_the_page_names_the_lanes():
    text = PAGE.read_text()
    named = text[text.index("`LANE` is any of") : text.index("What a loader does not have")]
    assert re.findall(r"`([a-z@]+)`", named) == lanes()


def test_a_trace_holds_what_the_core_describes(photos, tmp_path):
    loader = drapps.image_folder(photos).center_crop(16).batch(8)
    with loader.record(tmp_path / "a.trace"):
        for _ in loader:
            pass
    fields = drapps.trace.open(tmp_path / "a.trace").fields
    assert [(each.name, each.unit, each.source, each.kind) for each in fields] == [
        number[:4] for number in _core.observation_numbers()
    ]


def test_all_but_readings_of_the_machine_say_what_they_are():
    silent = [row.name for row in rows() if not row.meaning]
    assert silent and all(name.startswith("meter.") for name in silent)
