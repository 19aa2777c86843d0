"""Placements of a measured model: predicted, tried, and corrected by what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from drapps.errors import PipelineError
from drapps.report.base import mib
from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.chain import Placement, evaluate, plain
from drapps.train.checkpointing.installing import Placed, install
from drapps.train.checkpointing.measured_chain import chain_of, reasons_to_keep
from drapps.train.checkpointing.placement import cheapest, lowest
from drapps.train.checkpointing.profiling import measured_peak, profile
from drapps.train.checkpointing.report import BlockReport, CheckpointReport
from drapps.train.checkpointing.steps import Step, copy_rate
from drapps.train.checkpointing.unmeasured import square_root

TRIALS = 8  # placements that are measured
DOES_NOT_FIT = 2**63 - 1  # the peak of a step that a GPU has no memory for
CLOSE = 0.1  # a prediction that is off by a larger share leads to another trial


class MemoryLimitError(PipelineError):
    """No placement keeps the step within the limit.

    Attributes:
        limit_bytes: that was asked for.
        smallest_bytes: the smallest peak that can be reached.
    """

    def __init__(self, message: str, limit_bytes: int, smallest_bytes: int) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes
        self.smallest_bytes = smallest_bytes


@dataclass(frozen=True)
class Tried:
    """A placement that was measured."""

    placement: Placement
    predicted: int
    measured: int
    seconds: float


class Search:
    """Places the activations of one model.

    Args:
        blocks: of the model.
        step: makes a step.
        device: where the model is.
    """

    def __init__(self, blocks: Sequence[Block], step: Step, device: torch.device) -> None:
        self._blocks = blocks
        self._step = step
        self._device = device
        rate = copy_rate(device) if device.type == "cuda" else None
        self._offload = rate is not None
        self._plain = profile(step, blocks, device)
        self._reasons = reasons_to_keep(self._plain, blocks)
        self._chain = chain_of(self._plain, blocks, self._reasons, rate)
        self._by_name = {block.name: block for block in blocks}
        self._fits = self._plain.peak is not None
        self._peak = self._plain.peak or evaluate(self._chain, plain(self._chain)).peak

    def within(self, limit: int) -> CheckpointReport:
        """Least added seconds within a limit of the peak, in bytes."""
        if self._fits and self._peak <= limit:
            peak = mib(self._peak)
            return self._unchanged(f"the plain step takes {peak}, which is within the limit")
        tried: list[Tried] = []
        target, low, high = limit, 0, 0  # predictions that leave room, and that do not fit
        for _ in range(TRIALS):
            placement = cheapest(self._chain, target, offload=self._offload)
            if placement is None or any(each.placement == placement for each in tried):
                break
            trial = self._try(placement)
            tried.append(trial)
            if trial.measured > limit:
                high = trial.predicted
                target = max((low + high) // 2, high - (trial.measured - limit))
            elif trial.measured >= (1 - CLOSE) * trial.predicted:
                break
            else:
                low = target
                target += trial.predicted - trial.measured
                target = min(target, (low + high) // 2) if high else target
        kept = [each for each in tried if each.measured <= limit]
        if not kept:
            smallest = self._try(lowest(self._chain, offload=self._offload))
            if smallest.measured > limit:
                raise self._too_little(limit, smallest, tried)
            kept = [smallest]
        return self._placed(min(kept, key=lambda each: each.seconds))

    def in_segments(self, segments: int | str | None) -> CheckpointReport:
        """Least peak with at most so many recomputed segments."""
        free = [each for each in self._blocks if each.name not in self._reasons]
        if len(free) < 2:
            return self._unchanged("none of its blocks can be recomputed")
        most = segments if isinstance(segments, int) else square_root(free)
        trial = self._try(lowest(self._chain, most, self._offload))
        if all(each.action == "keep" for each in trial.placement):
            return self._unchanged("no recomputation lowers its peak")
        if trial.measured == DOES_NOT_FIT:
            return self._unchanged("the GPU has no memory for the placement of least peak")
        if trial.measured >= self._peak:
            return self._unchanged("no recomputation that was tried lowers its measured peak")
        return self._placed(trial)

    def _segments(self, placement: Placement) -> list[Placed]:
        segments: list[Placed] = []
        for segment in placement:
            elements = self._chain[segment.first : segment.last + 1]
            names = [name for each in elements for name in each.names]
            if segment.action != "keep":
                segments.append((tuple(self._by_name[name] for name in names), segment.action))
        return segments

    def _try(self, placement: Placement) -> Tried:
        """Measures a placement."""
        expected = evaluate(self._chain, placement)
        undo = install(self._segments(placement))
        try:
            measured = measured_peak(self._step, self._device)
        except torch.OutOfMemoryError:
            measured = DOES_NOT_FIT
        finally:
            undo()
        return Tried(placement, expected.peak, measured, expected.seconds)

    def _too_little(self, limit: int, smallest: Tried, tried: Sequence[Tried]) -> MemoryLimitError:
        measured = [each.measured for each in (*tried, smallest)]
        least = min([*measured, self._peak] if self._fits else measured)
        if least == DOES_NOT_FIT:
            least = smallest.predicted
        return MemoryLimitError(
            f"no placement keeps the step within memory={limit} bytes: the smallest peak that "
            f"was found is {least} bytes ({mib(least)}); give more memory, or a smaller batch",
            limit,
            least,
        )

    def _unchanged(self, reason: str) -> CheckpointReport:
        peak, seconds = self._peak, self._plain.step_seconds
        blocks = self._block_reports(plain(self._chain))
        measured = peak if self._fits else None
        return CheckpointReport(blocks, reason, peak, peak, measured, seconds, seconds, self._fits)

    def _placed(self, tried: Tried) -> CheckpointReport:
        undo = install(self._segments(tried.placement))
        before = self._plain.step_seconds
        return CheckpointReport(
            self._block_reports(tried.placement),
            "",
            self._peak,
            tried.predicted,
            tried.measured,
            before,
            before + tried.seconds,
            self._fits,
        ).undoing(undo)

    def _block_reports(self, placement: Placement) -> tuple[BlockReport, ...]:
        numbers = {name: number for number, name in enumerate(self._by_name)}
        saved = {
            number: self._plain.size(visit.saved)
            for visit in self._plain.visits
            for number in visit.blocks
        }
        segments = iter(range(1, len(placement) + 1))
        reports: dict[str, BlockReport] = {}
        for segment in placement:
            at = next(segments) if segment.action == "recompute" else None
            for each in self._chain[segment.first : segment.last + 1]:
                for name in each.names:
                    number = numbers[name]
                    reports[name] = BlockReport(
                        name,
                        segment.action,
                        at,
                        saved[number],
                        self._plain.seconds[number],
                        self._reasons.get(name, ""),
                    )
        idle = [
            BlockReport(each.name, "keep", reason=self._reasons[each.name])
            for each in self._blocks
            if each.name not in reports
        ]
        return (*reports.values(), *idle)
