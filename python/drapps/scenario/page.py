"""Runs of a scenario as a page: one file that needs no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from drapps.scenario.measures import BIN
from drapps.scenario.pages import document, table
from drapps.scenario.plots import Line, plot
from drapps.scenario.result import Run, SegmentResult, duration

_COLOURS = ("drapps", "stock", "initial")  # of the style sheet
_HEAD = ("segment", "samples/s", "stall", "CPU/sample", "p95 wait", "95 % of the best in")


def html(runs: Sequence[Run]) -> str:
    """The page of a run, or of several of one scenario, to compare them."""
    scenario = runs[0].scenario
    parts = [
        f"<h1>{escape(scenario['name'])}</h1><p>{escape(scenario['about'])}</p>",
        f'<p class="soft">{escape(_machine(runs[0]))}</p>',
        *_rates([run for run in runs if not run.skipped]),
        *(part for run in runs for part in _of(run)),
    ]
    return document(f"DRAPPS: {scenario['name']}", "\n".join(parts))


def _machine(run: Run) -> str:
    machine = run.machine.get("machine", {})
    if not machine:
        return ""
    memory = machine["memory_bytes"] / 2**30
    return f"{machine['cpus']:g} cores, {memory:.1f} GiB, Linux {run.machine['kernel']}"


def _rates(runs: Sequence[Run]) -> Iterator[str]:
    if not runs:
        return
    lines = [
        Line(
            run.label,
            [((number + 0.5) * BIN, rate) for number, rate in enumerate(run.rates)],
            _COLOURS[index % len(_COLOURS)],
        )
        for index, run in enumerate(runs)
    ]
    yield "<h2>Samples/s over time</h2>" + plot(lines, "seconds", "samples/s", _bands(runs[0]))


def _bands(run: Run) -> list[tuple[float, float, str]]:
    """Every second segment is shaded, so that one sees where each begins."""
    return [
        (each.begin, each.end, each.name or f"segment {each.number}")
        for each in run.segments
        if each.number % 2
    ]


def _of(run: Run) -> Iterator[str]:
    yield f"<h2>{escape(run.label)}</h2>"
    if run.skipped:
        yield f"<p>Skipped: {escape(run.skipped)}</p>"
        return
    yield table(_HEAD, [_row(each) for each in run.segments])
    yield from _knobs(run)
    if run.loader["kind"] == "drapps":
        yield _log(run)


def _row(each: SegmentResult) -> list[str]:
    soon = "" if each.time_to_best is None else f"{each.time_to_best:.1f} s"
    return [
        f"{each.number} {each.name}".strip(),
        f"{each.rate:,.0f}",
        f"{each.stall_share:.1%}",
        duration(each.cpu_per_sample),
        duration(each.p95_wait),
        soon,
    ]


def _knobs(run: Run) -> Iterator[str]:
    still = []
    for knob in run.knobs[0][1] if run.knobs else ():
        points = [(float(at), float(values[knob])) for at, values in run.knobs]
        if len({value for _, value in points}) == 1:
            still.append(f"{knob} at {points[0][1]:g}")
            continue
        line = Line(knob, points, "drapps", steps=True)
        yield f"<h3>Knob: {escape(knob)}</h3>{plot([line], 'seconds', knob, _bands(run))}"
    if still:
        yield f'<p class="soft">Not moved: {escape(", ".join(still))}.</p>'


def _log(run: Run) -> str:
    rows = [
        [
            f"{entry['time_s']:.1f}",
            f"{entry['knob']} {entry['before']} → {entry['applied']}" if entry["knob"] else "",
            entry["why"] + (f" (held back: {entry['held']})" if entry["held"] else ""),
        ]
        for entry in run.decisions
    ]
    log = table(["s", "move", "why"], rows, "log") if rows else "<p>Nothing: no knob moved.</p>"
    return f"<h3>What was decided</h3>{log}"
