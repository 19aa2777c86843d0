"""What is shown of a process and its loaders, as lines that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drapps.monitor.client import Snapshot
from drapps.monitor.reports import LoaderReport, ProcessReport
from drapps.report.base import mib
from drapps.report.numbers import numbers
from drapps.report.stats import Stats, seconds

WIDTH = 80


@dataclass(frozen=True)
class Section:
    """A part of the view.

    Attributes:
        title: of it.
        lines: below that, of any length.
    """

    title: str
    lines: Sequence[str]

    def text(self, width: int = WIDTH) -> str:
        """The part as text, each line cut where it is too wide."""
        lines = [cut(f"  {line}", width) for line in self.lines or ["none"]]
        return "\n".join([self.title, *lines])


def cut(text: str, width: int) -> str:
    """The text in one line of so many columns, of what every terminal can show."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"


def process_line(process: ProcessReport) -> str:
    """A process, in a line of a list."""
    rank = f" rank {process.rank}" if process.rank else ""
    many = f"{len(process.loaders)} loader{'' if len(process.loaders) == 1 else 's'}"
    return f"{process.pid:>7}{rank}  {many}  {process.command}"


def loader_line(loader: LoaderReport) -> str:
    """A loader, as a headline."""
    return f"loader {loader.number}: {loader.kind} of {loader.dataset}"


def sections(
    process: ProcessReport, loader: LoaderReport, before: LoaderReport | None = None
) -> list[Section]:
    """All that is shown of a loader.

    Args:
        process: whose it is.
        loader: what it has counted.
        before: the same at an earlier time, for rates and means since then.
    """
    elapsed = loader.time_s - before.time_s if before is not None else 0.0
    figures = numbers(loader.stats, before.stats if before is not None else None, elapsed)
    return [
        Section("training", list(_training(figures))),
        Section("stages", list(_stages(loader.stats, figures))),
        Section("workers", list(_workers(loader.stats))),
        Section("memory", list(_memory(process))),
        Section("cache", list(_cache(loader))),
        Section("knobs", list(_knobs(loader))),
        Section("decisions", list(_decisions(loader))),
    ]


def _training(figures: dict[str, float]) -> Iterator[str]:
    yield (
        f"{figures['batches']:,.0f} batches, {figures['samples']:,.0f} samples, "
        f"{figures['failed_samples']:,.0f} bad; {figures['ready_batches']:,.0f} batches ready"
    )
    if "samples_per_s" in figures:
        yield (
            f"{figures['samples_per_s']:,.0f} samples/s, {figures['batches_per_s']:,.1f} batches/s "
            "since the last look"
        )
    if "step_ms" in figures:
        stall = figures.get("stall_share", 0.0)
        yield (
            f"a step takes {seconds(figures['step_ms'] / 1e3)}, of which it waits "
            f"{seconds(figures.get('stall_ms', 0.0) / 1e3)}: a stall of {stall:.1%}"
        )


def _stages(stats: Stats, figures: dict[str, float]) -> Iterator[str]:
    yield f"{'':<10}{'time':>10}{'p50':>10}{'p99':>10}{'queue':>8}{'wait p50':>11}"
    for name, lane in stats.lanes.items():
        service = figures.get(f"stage/{name}/service_ms")
        if service is None and not lane.service_s.count:
            continue
        spread = lane.service_s
        mean = "" if service is None else seconds(service / 1e3)
        queue = figures.get(f"stage/{name}/queue_length")
        yield (
            f"{name:<10}{mean:>10}{seconds(spread.p50):>10}{seconds(spread.p99):>10}"
            f"{'' if queue is None else f'{queue:.1f}':>8}"
            f"{seconds(lane.wait_s.p50) if lane.wait_s.count else '':>11}"
        )


def _workers(stats: Stats) -> Iterator[str]:
    yield f"{stats.workers.count} alive; where their time went since they began:"
    shares = [f"{share:.0%} {name}" for name, share in stats.workers.shares() if share >= 0.005]
    for start in range(0, len(shares), 3):
        yield ", ".join(shares[start : start + 3])


def _memory(process: ProcessReport) -> Iterator[str]:
    memory = process.memory
    yield f"{mib(memory.used)} of a budget of {mib(memory.limit)}; {mib(memory.peak)} at most"
    for name, account in memory.accounts.items():
        yield f"{name:<12}{mib(account.used):>14}{mib(account.peak):>14} at most"
    yield f"{'held':<12}{mib(memory.held):>14} in batches of the training"


def _cache(loader: LoaderReport) -> Iterator[str]:
    forms = loader.explanation.forms
    cache = forms.get("cache")
    if cache is not None:
        yield (
            f"{mib(cache['bytes'])} of {mib(cache['budget'])}; {cache['hits']:,} hits, "
            f"{cache['refused']:,} refused, {cache['dropped']:,} dropped"
        )
    for name, form in forms.items():
        if name != "cache":
            yield f"{name:<14}{form['samples']:>10,} samples{mib(form['bytes']):>14}"


def _knobs(loader: LoaderReport) -> Iterator[str]:
    stats, budget = loader.stats, loader.explanation.plan.budget
    yield f"budgets: {budget['cpus']:g} cores, {mib(budget['ram_bytes'])} of RAM"
    for name, value in stats.settings["knobs"].items():
        low, high = stats.limits.get(name, (value, value))
        move = next(
            (
                e
                for e in reversed(loader.explanation.decisions.entries)
                if e.moved and e.knob == name
            ),
            None,
        )
        moved = "" if move is None else f"  {move.before} -> {move.applied} at {move.time_s:.1f} s"
        yield f"{name:<16}{value:>6}  of {low} to {high}{moved}"


def _decisions(loader: LoaderReport) -> Iterator[str]:
    log = loader.explanation.decisions
    yield log.summary
    for entry in reversed(log.entries[-20:]):
        yield str(entry)


def page(snapshot: Snapshot, before: Snapshot | None = None) -> str:
    """All of a process, as text.

    Args:
        snapshot: of it.
        before: of an earlier time, for rates.
    """
    earlier = {} if before is None else {each.number: each for each in before.loaders}
    lines = [cut(f"process {process_line(snapshot.process).strip()}", WIDTH)]
    for loader in snapshot.loaders:
        lines += ["", cut(loader_line(loader), WIDTH)]
        shown = sections(snapshot.process, loader, earlier.get(loader.number))
        lines += [section.text() for section in shown]
    if not snapshot.loaders:
        lines.append("  no loader that has begun a pass is alive")
    return "\n".join(lines)
