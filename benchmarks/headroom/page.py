"""The table as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.headroom import verdict

_HEAD = """# What there is to gain

How far the default settings stand from the best static ones, and those from an oracle that has
each segment's best settings as it begins. The value of a run is the mean over its segments of its
rate over the segment's best one, transitions included. `make headroom ARGS=--keep` writes this
page; benchmarks/headroom/headroom.md says how.

A scenario has headroom where oracle ÷ static is at least {changing:.2f} (*changing*: no static
settings will do), or static ÷ default at least {start:.2f} (*start-up*: the default should begin
elsewhere), in every round by more than two runs with the same settings differ (A/A, their ratio in
the round where it is furthest from 1).

| scenario | headroom | oracle ÷ static | static ÷ default | A/A | best static | oracle |
|---|---|---|---|---|---|---|
"""


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Of rows in any order."""
    rows = sorted(rows, key=lambda row: str(row["scenario"]))
    played = [row for row in rows if "skipped" not in row]
    parts = [_HEAD.format(changing=verdict.CHANGING, start=verdict.START)]
    parts += [_line(row) for row in played]
    parts += [
        f"| {row['scenario']} | skipped: {row['skipped']} | | | | | |\n"
        for row in rows
        if "skipped" in row
    ]
    if started := [row for row in played if row["start"]]:
        parts.append(
            "\n## From the beginning on\n\nDefault ÷ best static over 30 s, in stationary "
            f"scenarios; wanted: at least {verdict.LEAST_START}.\n\n"
            "| scenario | from | `start_` | A/A |\n|---|---|---|---|\n"
        )
        parts += [
            f"| {row['scenario']} | {row['start']['begin']:g} s "
            f"| {_spread(row['start']['ratios'])} | {_spread(row['start']['again'])} |\n"
            for row in started
        ]
    if eventful := [row for row in played if any(row.get("signals", ()))]:
        parts.append(
            "\n## What told it\n\nThe numbers of an observation that left their range "
            "first, behind the event that begins a segment.\n\n"
            "| scenario | segment | numbers |\n|---|---|---|\n"
        )
        parts += [_event(row, number) for row in eventful for number in range(len(row["signals"]))]
    parts.append(
        "\n## Where it was measured\n\n| scenario | date | commit | machine |\n|---|---|---|---|\n"
    )
    parts += [_place(row) for row in rows]
    return "".join(parts)


def _line(row: dict[str, Any]) -> str:
    ratios = row["ratios"]
    again = max(ratios["again"], key=lambda each: abs(each - 1))
    by_segment = "; ".join(row["oracle"]) if set(row["oracle"]) != {row["static"]} else "the same"
    return (
        f"| {row['scenario']} | {row['verdict']} | {_spread(ratios['oracle'])} "
        f"| {_spread(ratios['static'])} | {again:.2f} | {row['static']} | {by_segment} |\n"
    )


def _spread(rounds: Sequence[float]) -> str:
    return f"{median(rounds):.2f} ({min(rounds):.2f} to {max(rounds):.2f})"


def _event(row: dict[str, Any], number: int) -> str:
    event = row["signals"][number]
    names = ", ".join(
        f"`{each['name']}` {_change(each['factor'])}, after {each['after']:.1f} s" for each in event
    )
    segment = row["segments"][number + 1]
    return f"| {row['scenario']} | {number + 1} {segment['name']} | {names or 'none'} |\n"


def _change(factor: float | None) -> str:
    return "up from 0" if factor is None else f"at {factor:.3g} of what it was"


def _place(row: dict[str, Any]) -> str:
    machine = row["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores"
    return f"| {row['scenario']} | {row['date'][:10]} | {row['commit'][:12]} | {where} |\n"
