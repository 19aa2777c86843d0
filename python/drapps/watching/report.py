"""What ``watch_report()`` gives and ``drapps watch`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drapps.report.base import Report, mib, page
from drapps.report.stats import seconds


@dataclass(frozen=True, eq=False, repr=False)
class RankReport(Report):
    """One training process.

    Attributes:
        rank: its number; 0 where there is but one.
        pid: its process.
        loader: what it trains with: ``kind``, ``class``, ``at`` (where its iterator was made) and,
            of torch's, its options.
        steps: that were seen, without the first of each pass.
        step_s: mean seconds of a step, with its wait.
        stall: exposed wait as a share of the time of steps, 0 to 1.
        waited_steps: those whose exposed wait was a millisecond or more.
        wait_s: seconds in ``next``, of which the device has hidden `hidden_s`.
        handover_share: of the exposed waits, what came behind the making of the batch; None where
            that is not known.
        device_busy: share of steps at whose end the device still worked; None without one.
        samples_per_s: None where the batch size is not known.
        start_s: from the making of the first iterator to its first batch.
        gaps_s: the same of all later passes, and of the user's code between passes.
        apart: seconds of ``validation`` and ``checkpoint`` between steps, which are in no step.
        workers: processes that made batches.
        idle_share: of their time, what they had nothing to do in.
        batch_s: mean seconds that a batch took one of them.
        synchronising_s: of the steps, waiting for other ranks; an estimate.
        memory_growth: bytes per hour, where memory grows without end; else 0.
        timeline: ``bins`` of ``width_s`` seconds: steps, their seconds, their exposed waits.
    """

    rank: int
    pid: int
    loader: Mapping[str, Any]
    steps: int
    step_s: float
    stall: float
    waited_steps: int
    wait_s: float
    hidden_s: float
    handover_share: float | None
    device_busy: float | None
    samples_per_s: float | None
    start_s: float
    gaps_s: float
    apart: Mapping[str, float]
    workers: int
    idle_share: float
    batch_s: float
    synchronising_s: float
    memory_growth: float
    timeline: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class WatchReport(Report):
    """Whether a training waits for data, and why; it prints as a page.

    Attributes:
        verdict: one word: a cause of waits, such as ``storage`` or ``few-workers``; where it does
            not wait, what it does instead (``accelerator``, ``step``, ``pauses``, ``slow-rank``);
            or ``unclear``, ``too-little``.
        data_bound: whether it waits for data; None where that is unclear.
        sentence: the same for people.
        action: one thing to do.
        gain: how many times as fast the training would be with it, at most.
        stall: exposed wait as a share of the time of steps, 0 to 1, of the rank that waits most.
        ceiling: how many times as fast the training would be if loading were free.
        lost_hours: of accelerators, summed over ranks, until now.
        seconds: that were watched.
        stages: shares of the exposed wait by stage: ``storage``, ``decode``, ``transform``,
            ``collate``, ``hand-over``, ``transfer``, ``dataset`` (code of the user's that tells
            nothing of what it does).
        resources: shares of the making of samples: ``cpu``, ``core`` (waited for one), ``io``,
            ``sleep``, ``lock``, ``fault`` (pages that are read), ``wait`` (for anything else).
        lines: of the user's code that makes samples, most first.
        step_lines: of the training loop.
        slowest: the slowest samples, by their files where the dataset lists them, else by index.
        ranks: one by one.
        hooked: what was measured, and whether that worked.
        lift: what ``drapps lift`` says of the script's loaders, or how to see it.
    """

    verdict: str
    data_bound: bool | None
    sentence: str
    action: str
    gain: float
    stall: float
    ceiling: float
    lost_hours: float
    seconds: float
    stages: Mapping[str, float]
    resources: Mapping[str, float]
    lines: Sequence[Mapping[str, Any]]
    step_lines: Sequence[Mapping[str, Any]]
    slowest: Sequence[Mapping[str, Any]]
    ranks: Sequence[RankReport]
    hooked: Mapping[str, str]
    lift: str = field(default="")

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self._to_do(), "", page(self._rows())])

    def _to_do(self) -> Iterator[str]:
        if self.action:
            gain = f" (up to {self.gain:.2f} times as fast)" if self.gain >= 1.02 else ""
            yield f"{self.action}{gain}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        of_rank = " of the time" if not self.ranks else " of the steps"
        if len(self.ranks) > 1:
            of_rank = " of the slowest rank's steps"
        yield "stall", f"{self.stall:.1%}{of_rank}; {self.ceiling:.2f} times as fast without it"
        if self.stages and self.data_bound is not False:
            yield "stages", ", ".join(f"{share:.0%} {at}" for at, share in self.stages.items())
            shares = self.resources.items()
            yield "making", ", ".join(f"{share:.0%} {at}" for at, share in shares if share >= 0.01)
        for number, line in enumerate(self.lines[:3] if self.data_bound is not False else ()):
            what = f"{line['share']:.0%} {line['line']}  {line['text']}"
            yield ("" if number else "hot lines"), what
        for number, sample in enumerate(self.slowest[:3] if self.data_bound else ()):
            yield (
                ("" if number else "slow samples"),
                f"{seconds(sample['seconds'])} {sample['name']}",
            )
        for rank in self.ranks:
            yield from _rows_of(rank, len(self.ranks) > 1)
        lost = self.lost_hours * 3600
        yield "lost so far", f"{seconds(lost)} of accelerators in {seconds(self.seconds)}"
        if self.hooked:
            yield "measured", ", ".join(f"{name} ({how})" for name, how in self.hooked.items())
        if self.lift and self.data_bound is not False:
            yield "lift", self.lift


def _rows_of(rank: RankReport, several: bool) -> Iterator[tuple[str, str]]:
    name = f"rank {rank.rank}" if several else "steps"
    rate = "" if rank.samples_per_s is None else f", {rank.samples_per_s:,.0f} samples/s"
    stall = f", {rank.stall:.1%} stall" if several else ""
    yield name, f"{rank.steps} of {seconds(rank.step_s)}{stall}{rate}"
    if rank.hidden_s > 0.01 * max(1e-9, rank.wait_s):
        yield "", f"{seconds(rank.hidden_s)} of waits hidden behind the device's work"
    if rank.workers:
        workers = "1 worker" if rank.workers == 1 else f"{rank.workers} workers"
        yield "", f"{workers}, {rank.idle_share:.0%} of the time idle"
    apart = [f"{what} {seconds(spent)}" for what, spent in rank.apart.items()]
    apart += [f"start {seconds(rank.start_s)}", f"gaps between passes {seconds(rank.gaps_s)}"]
    yield "", f"apart from steps: {', '.join(apart)}"
    if rank.memory_growth:
        yield "", f"memory grows by {mib(rank.memory_growth)} an hour"
