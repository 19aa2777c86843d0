"""The ranks of one training side by side, as lines that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drapps.monitor.client import Snapshot
from drapps.monitor.reports import LoaderReport, ProcessReport
from drapps.report.base import mib
from drapps.report.numbers import numbers
from drapps.report.stats import seconds
from drapps.top.view import WIDTH, cut

_STALLED, _APART = 0.05, 0.5  # shares: of the time of steps, and of the largest stall
HEAD = f"{'rank':>4}{'pid':>9}{'samples/s':>12}{'step':>11}{'waits':>11}{'stall':>8}{'ready':>7}"
HEAD += f"{'memory':>14}"


@dataclass(frozen=True)
class Job:
    """Processes of one training that have begun a pass, in the order of their ranks.

    Attributes:
        name: what they have in common.
        world: as many ranks as there are, if all of them have begun; 0: that is not known.
        ranks: of them, those that answer here.
    """

    name: str
    world: int
    ranks: tuple[ProcessReport, ...]

    @property
    def line(self) -> str:
        """The job, in a line of a list."""
        there = len(self.ranks)
        many = f"{there} of {self.world}" if self.world > there else f"{there}"
        return f"{many} ranks  {self.ranks[0].command}"


def jobs(processes: Iterable[ProcessReport]) -> list[Job]:
    """The trainings of which several ranks are among some processes, in the order of these."""
    groups: dict[str, list[ProcessReport]] = {}
    for each in processes:
        if each.job:
            groups.setdefault(each.job, []).append(each)
    return [
        Job(name, _number(ranks[0].world), tuple(sorted(ranks, key=_place)))
        for name, ranks in groups.items()
        if len(ranks) > 1
    ]


def _place(process: ProcessReport) -> tuple[int, int]:
    return _number(process.rank), process.pid


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def training_loader(now: Snapshot, before: Snapshot | None) -> LoaderReport | None:
    """The loader of a rank from which most batches were taken since an earlier look."""
    earlier = {} if before is None else {each.number: each for each in before.loaders}

    def taken(loader: LoaderReport) -> tuple[int, int]:
        was = earlier.get(loader.number)
        batches = loader.stats.batches
        return batches - (was.stats.batches if was is not None else 0), batches

    return max(now.loaders, key=taken, default=None)


def row(now: Snapshot, before: Snapshot | None = None) -> tuple[str, float | None]:
    """A rank in a line below `HEAD`, and its stall, 0 to 1, where steps were taken since.

    Args:
        now: the rank.
        before: the same at an earlier time, for rates and means since then.
    """
    loader = training_loader(now, before)
    begin = f"{now.process.rank or '?':>4}{now.process.pid:>9}"
    if loader is None:
        return f"{begin}  no loader that has begun a pass is alive", None
    earlier = before.loaders if before is not None else ()
    was = next((each for each in earlier if each.number == loader.number), None)
    elapsed = loader.time_s - was.time_s if was is not None else 0.0
    figures = numbers(loader.stats, was.stats if was is not None else None, elapsed)
    rate = f"{figures['samples_per_s']:,.0f}" if "samples_per_s" in figures else ""
    step = seconds(figures["step_ms"] / 1e3) if "step_ms" in figures else ""
    waits = seconds(figures["stall_ms"] / 1e3) if "stall_ms" in figures else ""
    stall = figures.get("stall_share")
    share = "" if stall is None else f"{stall:.1%}"
    memory = mib(now.process.memory.used)
    line = f"{begin}{rate:>12}{step:>11}{waits:>11}{share:>8}{figures['ready_batches']:>7.0f}"
    return f"{line}{memory:>14}", stall


def summary(job: Job, stalls: Mapping[str, float | None]) -> str:
    """What the stalls of ranks come to, in a sentence.

    Ranks take their steps together: where one waits for its data and the others do not, these wait
    for that one.

    Args:
        job: whose ranks they are.
        stalls: of each rank, where it is known.
    """
    known = {rank: stall for rank, stall in stalls.items() if stall is not None}
    if not known:
        return f"{job.line}: no steps since the last look"
    worst = max(known, key=lambda rank: known[rank])
    most = known.pop(worst)
    if most < _STALLED:
        return "no rank waits for its data"
    if known and max(known.values()) < _APART * most:
        return f"rank {worst} waits for its data, {most:.0%} of its time; the others wait for it"
    return f"ranks wait for their data, rank {worst} most: {most:.0%} of its time"


def page(job: Job, seen: Sequence[Snapshot], before: Mapping[int, Snapshot]) -> str:
    """All ranks of a training, as text.

    Args:
        job: the training.
        seen: its ranks.
        before: the same at an earlier time, by process.
    """
    rows = [row(each, before.get(each.process.pid)) for each in seen]
    stalls = {each.process.rank: stall for each, (_, stall) in zip(seen, rows, strict=True)}
    lines = [job.line, summary(job, stalls), "", HEAD, *(line for line, _ in rows)]
    return "\n".join(cut(line, WIDTH) for line in lines)
