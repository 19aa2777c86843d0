"""The tables of a run as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from demo import summary
from demo.results import Results


def terminal(results: Results) -> str:
    """Both tables, and what `hill_climb` did, in lines of at most 100 columns."""
    training = summary.training_table(results.training)
    feeds = list(results.training)
    lines = [
        f"Training on {results.device}, stock with num_workers={results.workers}",
        *table(
            ["", *feeds], [[name, *(cells[feed] for feed in feeds)] for name, cells in training]
        ),
        "",
        f"Emulated accelerator, {1e3 * results.step_s:.0f} ms a step, "
        f"stock with num_workers={results.accelerator_workers}: samples/s (time waited)",
        *table(*accelerated_table(results)),
        "",
        "What hill_climb did",
        *(decision_lines(results) or ["  nothing: no knob moved"]),
    ]
    return "\n".join(lines)


def accelerated_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Head and rows of part two: for each feed, its samples/s in the three phases."""
    rows = []
    for name, series in results.accelerated.items():
        rates = summary.phase_rates(series["steps"], series["burst"])
        rows.append([name, *(f"{rate:,.0f} ({waited:.0%})" for rate, waited in rates.values())])
    return ["", "before", "foreign load", "after"], rows


def decision_lines(results: Results) -> list[str]:
    """One line for each thing that `hill_climb` did or remarked."""
    explained = results.accelerated["DRAPPS, hill_climb"]["explain"]
    lines = []
    for entry in summary.decisions(explained) if explained else []:
        moved = f"{entry['knob']} {entry['before']} → {entry['applied']}" if entry["knob"] else ""
        held = f" (held back: {entry['held']})" if entry["held"] else ""
        lines.append(f"  {entry['time_s']:5.1f} s  {moved:<22} {entry['why']}{held}")
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  " + "   ".join([f"{first[0]:<{first[1]}}", *(f"{c:>{w}}" for c, w in others)])

    return [line(head), "  " + "─" * (sum(widths) + 3 * (len(widths) - 1)), *map(line, rows)]
