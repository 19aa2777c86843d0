"""The page of a result: what each piece is worth, where the rest of the time goes, and plots."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.training_step import tables
from drapps.scenario.pages import document, table
from drapps.scenario.plots import Line, plot

_COLOURS = {"stock loader": "stock", "all": "drapps", "baseline": "initial"}
_QUALITIES = {"image": "held-out error, %", "text": "held-out bits per byte"}
_DEVICES = ("cpu", "cuda")


def write(file: Path) -> list[Path]:
    """Writes the page beside the result `file`; returns where."""
    page = file.with_suffix(".html")
    page.write_text(html(json.loads(file.read_text())), encoding="utf-8")
    return [page]


def html(content: Mapping[str, Any]) -> str:
    """Of a result as it is kept."""
    machine = content["machine"]
    parts = [
        "<h1>The training step</h1>",
        _paragraph(
            f"{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
            f"{machine['cores']} cores. Ratios are medians over the seeds, with 95 % intervals, "
            "which reach from the least to the most where there are fewer than six seeds."
        ),
    ]
    for device in _DEVICES:
        parts += _of_device(content, device)
    if rows := tables.others(content):
        parts += ["<h2>The other figures</h2>", table(("", "found", "wanted"), rows)]
    return document("DRAPPS: the training step", "\n".join(parts))


def _of_device(content: Mapping[str, Any], device: str) -> Iterator[str]:
    figures = content["figures"]
    if device in figures:
        why = figures[device]["everything"]["cannot_run"]
        yield f"<h2>On {device}</h2>" + _paragraph(f"Not measured: {why}.")
        return
    rows = tables.ratios(content, device)
    if rows:
        yield f"<h2>On {device}</h2>" + table(("", *_QUALITIES), rows)
    for task in _QUALITIES:
        case = f"{task}_{device}"
        if case in figures:
            yield f"<h3>{escape(task)} on {device}</h3>"
            yield _curves(task, content["rounds"][case])
            yield table(tables.ARMS_HEAD, tables.arms(figures[case]))
            yield "".join(map(_paragraph, tables.where(figures[case])))
    for name in figures:
        if name.startswith("memory_") and name.endswith(device):
            yield f"<h3>{escape(name)}</h3>"
            yield table(tables.MEMORY_HEAD, tables.memory(content, name))
        if name.startswith("goodput_") and name.endswith(device):
            yield f"<h3>{escape(name)}</h3>"
            yield table(tables.GOODPUT_HEAD, tables.goodput(figures[name]))


def _curves(task: str, rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Quality by the clock, the mean over the seeds at each evaluation."""
    lines = []
    for arm, colour in _COLOURS.items():
        points = []
        for at in zip(*(run["curve"] for run in rounds[arm]), strict=False):
            quality = fmean(each[2] for each in at)
            shown = 100 * (1 - quality) if task == "image" else quality
            points.append((fmean(each[0] for each in at), shown))
        lines.append(Line(arm, points, colour, dots=True))
    return plot(lines, "seconds of training", _QUALITIES[task])


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
