"""``--html FILE``: the report as one page, with plots of what is predicted and was measured."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from drapps.analysis.model import MOST_EXTRAPOLATION, Model, predict
from drapps.analysis.report import AnalysisReport
from drapps.scenario.pages import document, table
from drapps.scenario.plots import Line, plot

_COLOURS = ("drapps", "stock", "initial")  # of the style sheet
_SHARES = [number / 20 for number in range(21)]


def html(report: AnalysisReport) -> str:
    """The page of a report."""
    parts = [
        "<h1>What would help?</h1>",
        f"<p><b>{escape(report.sentence)}</b></p>",
        f"<p>{escape(report.recommendation.action)}</p>",
        *_plots(report),
        f"<h2>The report</h2><pre>{escape(str(report))}</pre>",
    ]
    return document("DRAPPS: what would help?", "\n".join(parts))


def _plots(report: AnalysisReport) -> Iterator[str]:
    model = Model.from_json(report.model)
    rule = (report.now.training, "the training step alone")
    if model.fetches:
        yield "<h2>Over the data in memory</h2>"
        yield plot(_over_cache(model, report), "% of the data in memory", "samples/s", rule=rule)
    yield "<h2>Over the cores that prepare</h2>"
    yield plot(_over_cores(model, report), "cores", "samples/s", rule=rule)
    yield table(["rate", "samples/s"], list(_rates(report)))


def _over_cache(model: Model, report: AnalysisReport) -> list[Line]:
    lines = []
    most = MOST_EXTRAPOLATION * max(cores for cores, _ in model.prepare)
    choices = sorted({model.cores, min(most, 2 * model.cores)})
    for cores, css in zip(choices, _COLOURS, strict=False):
        points = [
            (100 * share, predict(model, cache=share, cores=cores).throughput) for share in _SHARES
        ]
        lines.append(Line(f"{cores:g} cores", points, css))
    measured = [(100 * model.cached, report.measured)]
    return [*lines, Line("measured", measured, _COLOURS[2], dots=True)]


def _over_cores(model: Model, report: AnalysisReport) -> list[Line]:
    most = int(MOST_EXTRAPOLATION * max(cores for cores, _ in model.prepare))
    counts = sorted({*range(1, most + 1, max(1, most // 32)), model.cores})
    throughput = [(cores, predict(model, cores=cores).throughput) for cores in counts]
    return [
        Line("all together", throughput, _COLOURS[0]),
        Line("measured", [(model.cores, report.measured)], _COLOURS[2], dots=True),
    ]


def _rates(report: AnalysisReport) -> Iterator[list[str]]:
    for each in report.phases["prepared"]["points"]:
        rate = each["samples"] / each["seconds"]
        yield [f"preparing on {each['cores']:g} cores, measured", f"{rate:,.0f}"]
    if report.now.fetch is not None:
        yield ["fetching, as the data lie", f"{report.now.fetch:,.0f}"]
    yield ["the training step alone, measured", f"{report.now.training:,.0f}"]
    yield ["all together, measured", f"{report.measured:,.0f}"]
    yield ["all together, predicted from the rates", f"{report.bound:,.0f}"]
