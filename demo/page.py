"""The HTML report: one file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from demo import report, summary
from demo.results import Results
from demo.settings import BATCH, STEP_FACTOR
from drapps.scenario.pages import document, table
from drapps.scenario.plots import Line, plot

_CSS = {
    "stock": "stock",
    "DRAPPS": "drapps",
    "DRAPPS, initial": "initial",
    "DRAPPS, hill_climb": "drapps",
}


def html(results: Results) -> str:
    """Returns the whole page."""
    body = "\n".join([_training(results), _accelerator(results), _conditions(results)])
    return document(
        "DRAPPS: a training run",
        "<h1>A training run, fed by the stock loader and by DRAPPS</h1>"
        f'<p class="soft">{escape(results.data)}. {escape(results.machine)}. Every number on this '
        f"page was measured in this one run.</p>\n{body}",
    )


def _training(results: Results) -> str:
    feeds = list(results.training)
    rows = [
        [name, *(cells[feed] for feed in feeds)]
        for name, cells in summary.training_table(results.training)
    ]
    curves = [
        Line(feed, summary.accuracy_curve(results.training[feed]["epochs"]), _CSS[feed], dots=True)
        for feed in feeds
    ]
    return (
        f"<h2>Training on {escape(results.device)}</h2>"
        "<p>The same network, the same pictures, transforms and seed. The stock loader runs at its "
        f"best <code>num_workers</code>, which is {results.workers} here; DRAPPS takes its place "
        "by one changed line. Time that evaluation takes is not counted.</p>"
        f"{table(['', *feeds], rows)}<h3>Held-out accuracy over training time</h3>"
        f"{plot(curves, 'training time in seconds', 'held-out accuracy in %')}"
    )


def _accelerator(results: Results) -> str:
    runs = results.accelerated
    band = _band(runs["DRAPPS, hill_climb"]["burst"])
    rates = [Line(name, summary.rate_curve(run["steps"]), _CSS[name]) for name, run in runs.items()]
    rule = (BATCH / results.step_s, "the accelerator's own pace")
    return (
        "<h2>An emulated accelerator, and a burst of foreign load</h2>"
        "<p>With a network on the CPU the network itself is the bottleneck. Here the step only "
        f"sleeps, {1e3 * results.step_s:.0f} ms a batch, as a host does while an accelerator "
        "works. For a while, processes that have nothing to do with training keep every core "
        f"busy.</p><p>The step's time was chosen in this run: it is {STEP_FACTOR:g} times what "
        f"DRAPPS needed for a batch of {BATCH} when it loaded alone, so DRAPPS has cores to spare "
        "in the quiet phases. A step chosen from the stock loader's own rate would be longer "
        "wherever that rate is lower. <strong>All runs are given the same step</strong>, the "
        "stock loader's too; that one runs at the <code>num_workers</code> that loaded fastest "
        f"without a network, which is {results.accelerator_workers} here.</p>"
        f"{table(*report.accelerated_table(results))}"
        '<p class="soft">Samples/s, and in parentheses the share of the time that the step '
        "waited.</p><h3>Samples/s over time</h3>"
        f"{plot(rates, 'seconds', 'samples/s', [band], rule)}{_knobs(results, band)}"
    )


def _knobs(results: Results, band: tuple[float, float, str]) -> str:
    names = {name: _CSS[name] for name in ("DRAPPS, initial", "DRAPPS, hill_climb")}
    knobs: dict[str, list[Line]] = {}
    for run, css in names.items():
        settings = results.accelerated[run]["settings"]
        for knob in settings[0][1] if settings else {}:
            points = [(at, float(values[knob])) for at, values in settings]
            knobs.setdefault(knob, []).append(Line(run, points, css, steps=True))
    moved = {
        knob: lines
        for knob, lines in knobs.items()
        if len({y for ln in lines for _, y in ln.points}) > 1
    }
    plots = [
        f"<h3>Knob: {escape(knob)}</h3>{plot(lines, 'seconds', knob, [band])}"
        for knob, lines in moved.items()
    ]
    still = ", ".join(
        f"{knob} at {lines[0].points[0][1]:g}" for knob, lines in knobs.items() if knob not in moved
    )
    note = f'<p class="soft">Not moved: {escape(still)}.</p>' if still else ""
    return "".join(plots) + note + _log(results)


def _band(burst: Sequence[float]) -> tuple[float, float, str]:
    begin, end = [*burst, float("inf"), float("inf")][:2]
    return begin, end, "foreign load on every core"


def _log(results: Results) -> str:
    explained = results.accelerated["DRAPPS, hill_climb"]["explain"]
    entries = summary.decisions(explained) if explained else []
    rows = [
        [
            f"{entry['time_s']:.1f}",
            f"{entry['knob']} {entry['before']} → {entry['applied']}" if entry["knob"] else "",
            entry["why"] + (f" (held back: {entry['held']})" if entry["held"] else ""),
            *(_milliseconds(entry[key]) for key in ("step_ms_before", "step_ms_after")),
        ]
        for entry in entries
    ]
    head = ["s", "move", "why", "step before", "step after"]
    log = table(head, rows, "log") if rows else "<p>Nothing: no knob moved.</p>"
    return f"<h3>What hill_climb did, from loader.explain()</h3>{log}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} ms"


def _conditions(results: Results) -> str:
    counts = list(results.probe["train"])
    rows = [
        [name, *(f"{results.probe[job][count]:,.0f}" for count in counts)]
        for job, name in (("train", "with the network"), ("load", "loading alone"))
    ]
    head = ["stock, samples/s at num_workers", *map(str, counts)]
    return (
        f"<h2>Under which conditions</h2>{table(head, rows)}"
        f"<p>DRAPPS loading alone: {results.probe['drapps'][0]:,.0f} samples/s.</p>"
        f"<h3>What DRAPPS took over</h3><pre>{escape(results.lifted)}</pre>"
    )
