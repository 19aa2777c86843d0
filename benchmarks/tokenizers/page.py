"""The page of a result: what was wanted and found, and the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write(file: Path) -> Path:
    """Writes the page beside the result."""
    page = file.with_suffix(".md")
    page.write_text(text(json.loads(file.read_text())), encoding="utf-8")
    return page


def text(result: dict[str, Any]) -> str:
    """The page of a result."""
    machine = result["machine"]
    lines = [
        "# Tokenizers",
        "",
        f"{result['date']}, commit `{result['commit'][:16]}`, {machine['cpu']}, "
        f"{machine['cores']} cores, load average {machine['load_before']:.1f} before.",
        "",
        *_goals(result),
    ]
    for case, figures in result["figures"].items():
        if not case.startswith("hostile "):
            lines += ["", f"## {case}", "", *_case(figures)]
    return "\n".join([*lines, *_hostile(result["figures"])]) + "\n"


def _goals(result: dict[str, Any]) -> list[str]:
    lines = ["| figure | found | interval | wanted |", "|---|---|---|---|"]
    for name, value in result["ratios"].items():
        ends = result["intervals"].get(name)
        between = f"{ends[0]:.2f} to {ends[1]:.2f}" if ends else ""
        wanted = f"≥ {result['wanted'][name]:g}" if name in result["wanted"] else ""
        wanted = f"≤ {result['limits'][name]:g}" if name in result["limits"] else wanted
        lines.append(f"| {name} | {value:.2f} | {between} | {wanted} |")
    return lines


def _case(figures: dict[str, Any]) -> list[str]:
    lines = ["| contestant | MB/s | cold MB/s | load s | documents that differ |"]
    lines.append("|---|---|---|---|---|")
    for name, each in figures.items():
        about = each.get("versions", "")
        newest = f", newest {each['newest']}" if each.get("newest") else ""
        shown = f"{name} ({about}{newest})" if about else name
        if "cannot_run" in each:
            lines.append(f"| {shown} | cannot run: {each['cannot_run']} | | | |")
            continue
        cells = [
            _number(each.get("mb_per_s"), 1),
            _number(each.get("cold_mb_per_s"), 1),
            _number(each.get("load_s"), 3),
            _number(each.get("documents_that_differ"), 0),
        ]
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return lines


def _hostile(figures: dict[str, Any]) -> list[str]:
    cases = {case: each for case, each in figures.items() if case.startswith("hostile ")}
    names = list(dict.fromkeys(name for each in cases.values() for name in each))
    if not cases:
        return []
    lines = ["", "## Hostile inputs, MB/s", "", f"| input | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for case, each in cases.items():
        cells = [_rates(each.get(name, {})) for name in names]
        lines.append(f"| {case.removeprefix('hostile ')} | {' | '.join(cells)} |")
    return lines


def _rates(figure: dict[str, Any]) -> str:
    if "cannot_run" in figure:
        return f"cannot run: {figure['cannot_run']}"
    rates = [value for name, value in figure.items() if name.startswith("mb_per_s_at_")]
    return ", ".join(f"{rate:.1f}" for rate in rates)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
