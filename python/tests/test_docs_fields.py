"""docs/reference/observation.md lists the numbers of an observation, as a trace names them."""

import re
from pathlib import Path

import drapps
import drapps.trace
from drapps.trace import Field

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "observation.md"
SPREAD = ("count", "sum", "p50", "p90", "p99", "most")
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) ?\| (.*?) \| (\w+) \|", re.MULTILINE)


def lanes_of(fields: list[Field]) -> list[str]:
    weight = "settings.weight."
    return [f.name.removeprefix(weight) for f in fields if f.name.startswith(weight)]


def listed(fields: list[Field]) -> list[tuple[str, ...]]:
    """A row for each number, one for a spread, one for all lanes."""
    lanes = "|".join(map(re.escape, lanes_of(fields)))
    of = {f.name: f for f in fields}
    rows: dict[tuple[str, ...], None] = {}
    for field in fields:
        head, _, part = field.name.rpartition(".")
        name, kind = field.name, field.kind
        if all(f"{head}.{each}" in of for each in SPREAD):
            if part != "p50":
                assert of[f"{head}.sum"].unit == field.unit or part == "count"
                assert field.kind == ("counter" if part in SPREAD[:2] else "gauge")
                continue
            name, kind = head, "spread"
        name = re.sub(rf"(^|\.)({lanes})(\.|$)", r"\1LANE\3", name)
        rows[name, field.unit, field.source, kind] = None
    return list(rows)


def test_the_page_lists_what_a_trace_holds(photos, tmp_path):
    loader = drapps.image_folder(photos).center_crop(16).batch(8)
    with loader.record(tmp_path / "a.trace"):
        for _ in loader:
            pass
    fields = list(drapps.trace.open(tmp_path / "a.trace").fields)
    page = PAGE.read_text()
    rows = [tuple(cell.strip("`") for cell in row) for row in ROW.findall(page)]
    assert rows == listed(fields)
    lanes = page[page.index("`LANE` is any of") : page.index("What a loader does not have")]
    assert re.findall(r"`([a-z@]+)`", lanes) == lanes_of(fields)
