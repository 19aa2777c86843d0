"""``--html FILE``: the report as one page that needs no other file, for a colleague."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from drapps.report.stats import seconds
from drapps.scenario.pages import document, table
from drapps.scenario.plots import Line, plot
from drapps.watching.report import RankReport, WatchReport

_COLOURS = ("drapps", "stock", "initial")  # of the style sheet


def html(report: WatchReport) -> str:
    """The page of a report."""
    gain = f" (up to {report.gain:.2f} times as fast)" if report.gain >= 1.02 else ""
    parts = [
        "<h1>Is this training waiting for data?</h1>",
        f"<p><b>{escape(report.sentence)}</b></p>",
        f"<p>{escape(report.action)}{gain}</p>" if report.action else "",
        f'<p class="soft">{_summary(report)}</p>',
        *_over_time(report),
        *_stages(report),
        *_lines(report),
        *_ranks(report),
        f"<h2>The report</h2><pre>{escape(str(report))}</pre>",
    ]
    return document("DRAPPS: is this training waiting for data?", "\n".join(parts))


def _summary(report: WatchReport) -> str:
    return (
        f"{seconds(report.seconds)} were watched; {report.stall:.1%} of the steps were stall, and "
        f"without it the training would be {report.ceiling:.2f} times as fast."
    )


def _over_time(report: WatchReport) -> Iterator[str]:
    lines = [
        Line(f"rank {rank.rank}", _shares(rank), _COLOURS[number % len(_COLOURS)])
        for number, rank in enumerate(report.ranks[: len(_COLOURS)])
    ]
    if any(line.points for line in lines):
        yield "<h2>Stall over time</h2>" + plot(lines, "seconds", "stall, % of the steps")


def _shares(rank: RankReport) -> list[tuple[float, float]]:
    width = rank.timeline["width_s"]
    return [
        ((number + 0.5) * width, 100 * exposed / spent)
        for number, (_, spent, exposed) in enumerate(rank.timeline["bins"])
        if spent > 0
    ]


def _stages(report: WatchReport) -> Iterator[str]:
    if report.data_bound is False or not report.stages:
        return
    rows = [[stage, f"{share:.1%}"] for stage, share in report.stages.items()]
    yield "<h2>What it waits for</h2>" + table(["stage", "of the stall"], rows)
    rows = [[name, f"{share:.1%}"] for name, share in report.resources.items()]
    yield table(["what samples are made of", "share"], rows)


def _lines(report: WatchReport) -> Iterator[str]:
    if report.lines and report.data_bound is not False:
        rows = [
            [f"{each['share']:.0%}", each["stage"], each["line"], each["text"]]
            for each in report.lines
        ]
        yield "<h2>Hot lines of the loading</h2>" + table(["", "stage", "line", ""], rows, "log")
    if report.step_lines:
        rows = [
            [seconds(each["seconds"]), each["line"], each["text"]] for each in report.step_lines
        ]
        yield "<h2>Hot lines between batches</h2>" + table(["", "line", ""], rows, "log")
    if report.slowest:
        rows = [[seconds(each["seconds"]), each["name"]] for each in report.slowest]
        yield "<h2>Slowest samples</h2>" + table(["", "sample"], rows, "log")


def _ranks(report: WatchReport) -> Iterator[str]:
    if not report.ranks:
        return
    head = ["rank", "steps", "a step", "stall", "samples/s", "workers", "idle"]
    rows = [
        [
            str(rank.rank),
            str(rank.steps),
            seconds(rank.step_s),
            f"{rank.stall:.1%}",
            "" if rank.samples_per_s is None else f"{rank.samples_per_s:,.0f}",
            str(rank.workers),
            f"{rank.idle_share:.0%}",
        ]
        for rank in report.ranks
    ]
    yield "<h2>Ranks</h2>" + table(head, rows)
