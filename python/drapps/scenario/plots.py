"""Line plots as SVG text: no script, no font, no file besides; colours come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 860, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 34, 44

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One line of a plot: its name, its points by rising x, and a CSS class for its colour."""

    name: str
    points: Sequence[Point]
    css: str
    steps: bool = False  # holds its value until the next point
    dots: bool = False  # marks its points


def plot(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    bands: Sequence[tuple[float, float, str]] = (),
    rule: tuple[float, str] | None = None,
) -> str:
    """Returns an `<svg>` with all lines; y begins at 0.

    `bands` shade intervals of x, `rule` draws a level of y; all carry a text.
    """
    points = [point for line in lines for point in line.points]
    x_most = max((x for x, _ in points), default=1.0) or 1.0
    y_most = max([y for _, y in points] + ([rule[0]] if rule else []), default=1.0) or 1.0
    y_ticks = ticks(y_most * 1.08)
    top = max(y_ticks[-1], y_most * 1.08)

    def at(x: float, y: float) -> Point:
        return (
            _LEFT + x / x_most * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - y / top * (_HEIGHT - _TOP - _BOTTOM),
        )

    body: list[str] = []
    for begin, end, name in bands:
        (left, upper), (right, lower) = at(min(begin, x_most), top), at(min(end, x_most), 0)
        size = f'width="{right - left:.1f}" height="{lower - upper:.1f}"'
        body.append(f'<rect class="band" x="{left:.1f}" y="{upper:.1f}" {size}/>')
        body.append(_text((left + right) / 2, upper + 14, name, "middle"))
    for value in y_ticks:
        body.append(_rule(at(0, value), at(x_most, value), "grid"))
        body.append(_text(_LEFT - 8, at(0, value)[1] + 4, f"{value:g}", "end"))
    below = _HEIGHT - _BOTTOM + 17
    body += [_text(at(value, 0)[0], below, f"{value:g}", "middle") for value in ticks(x_most)]
    body.append(_text((_WIDTH + _LEFT) / 2, _HEIGHT - 8, x_label, "middle"))
    body.append(_text(8, 16, y_label, "start"))
    if rule:
        body.append(_rule(at(0, rule[0]), at(x_most, rule[0]), "rule"))
        body.append(_text(_WIDTH - _RIGHT, at(0, rule[0])[1] - 5, rule[1], "end"))
    for number, line in enumerate(lines):
        body += _drawn(line, [at(x, y) for x, y in line.points])
        x = _WIDTH - _RIGHT - 165 * (len(lines) - number)
        body.append(f'<rect class="{line.css} key" x="{x}" y="9" width="18" height="4"/>')
        body.append(_text(x + 24, 16, line.name, "start"))
    title = escape(f"{y_label} over {x_label}")
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg {view} role="img" aria-label="{title}">{"".join(body)}</svg>'


def ticks(most: float) -> list[float]:
    """Four to eight round numbers from 0 up to at most `most`."""
    raw = most / 5
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * factor for factor in (1, 2, 2.5, 5, 10) if base * factor >= raw * 0.8)
    return [round(step * number, 10) for number in range(int(most / step + 1e-9) + 1)]


def _drawn(line: Line, places: list[Point]) -> list[str]:
    if not places:
        return []
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
    for x, y in places[1:]:
        path += f"H{x:.1f}V{y:.1f}" if line.steps else f"L{x:.1f} {y:.1f}"
    drawn = [f'<path class="{line.css}" d="{path}"/>']
    if line.dots:
        drawn += [
            f'<circle class="{line.css}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places
        ]
    return drawn


def _rule(start: Point, end: Point, css: str) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line class="{css}" {ends}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
