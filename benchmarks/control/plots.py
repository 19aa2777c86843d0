"""The report's plots: one page that needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.control import summary
from benchmarks.control.arms import DEFAULT, STATIC
from benchmarks.control.summary import Row, values
from drapps.scenario.pages import document
from drapps.scenario.plots import Line, plot

_COLOURS = ("drapps", "stock", "initial")  # of the style sheet


def html(content: Mapping[str, Any]) -> str:
    """Sorted values of the default, of the best policy and of the tuned static settings."""
    rows: Sequence[Row] = content["rows"]
    parts = ["<h1>Policies on simulated machines</h1>"]
    for title, some in (
        ("Where something changes", summary.changing(rows)),
        ("Where nothing changes", summary.stationary(rows)),
        *((event, own) for (event,), own in summary.grouped(rows, "event").items()),
    ):
        if some:
            parts.append(f"<h2>{title}</h2>{_sorted(some)}")
    return document("DRAPPS: policies on simulated machines", "\n".join(parts))


def _sorted(rows: Sequence[Row]) -> str:
    arms = (DEFAULT, summary.best_policy(rows), STATIC)
    lines = []
    for arm, colour in zip(arms, _COLOURS, strict=True):
        ordered = sorted(values(rows, arm))
        points = [(100 * (at + 1) / len(ordered), each) for at, each in enumerate(ordered)]
        lines.append(Line(arm, points, colour, steps=True))
    return plot(lines, "% of the rows", "value: share of the best known", rule=(1.0, "best known"))
