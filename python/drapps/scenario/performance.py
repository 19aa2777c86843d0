"""What a player does from the loader's making to the end of the time, and what it measures."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.scenario.consumer import Step, Validation
from drapps.scenario.contestant import Drapps, loader_of
from drapps.scenario.measures import BIN, Steps, bins, measure
from drapps.scenario.processes import cpu_seconds
from drapps.scenario.result import SegmentResult
from drapps.scenario.scenario import Scenario
from drapps.scenario.workloads import Workload


@dataclass(frozen=True)
class _Mark:
    """Where a segment was begun: when, and what had been counted a moment later."""

    at: float
    samples: int
    cpu: float
    validated: int


class Performance:
    """One run.

    Args:
        spec: ``scenario``, ``loader``, ``roots``, ``trace`` (a new file, or none), ``checksums``.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._scenario = Scenario.from_json(spec["scenario"])
        self._contestant = loader_of(spec["loader"])
        self._workload = Workload(self._scenario, spec["roots"])
        self._trace: str = spec["trace"]
        self._most_sums: int = spec["checksums"]
        self._settings: dict[str, Any] | None = None
        if isinstance(self._contestant, Drapps) and self._contestant.first is not None:
            self._settings = self._workload.settings(self._contestant.first)
        self._loader: Any = None
        self._step = Step(self._workload.classes)
        self._validation = Validation(lambda: self._new_loader())
        self._steps = Steps()
        self._marks: list[_Mark] = []
        self._sums: list[int] = []
        self._knobs: list[tuple[float, dict[str, int]]] = []
        self._samples = 0

    def run(self, began: Callable[[float], None]) -> dict[str, Any]:
        """Plays; `began` is told when, on the monotonic clock. Returns fields of `Run`.

        Raises:
            PipelineError: the loader cannot be made, or recorded.
        """
        self._origin = time.monotonic()
        began(self._origin)
        self._dataset = self._workload.dataset(self._origin)
        self._loader = self._new_loader()
        recording = self._loader.record(self._trace) if self._trace else None
        self._enter(0.0)
        now = looked = 0.0
        for batch, waited in self._taken():
            if len(self._sums) < self._most_sums:
                self._sums.append(checksum(batch))
            self._step(batch)
            count = len(batch[1])
            del batch
            now = time.monotonic() - self._origin
            self._samples += count
            self._steps.add(now, waited, count)
            if now >= looked + BIN:
                looked = now
                self._note_knobs(now)
            while (begin := self._next_begin(now)) is not None:
                self._enter(begin)
            if now >= self._scenario.seconds:
                break
        self._marks.append(self._mark(self._scenario.seconds))
        decisions = self._decisions()
        if recording is not None:
            recording.stop()
        self._validation.become(False, 0)
        return {
            "segments": [asdict(each) for each in self._results()],
            "rates": bins(self._steps, self._scenario.seconds),
            "knobs": self._knobs,
            "decisions": decisions,
            "checksums": self._sums,
            "trace": self._trace,
            "torch": str(torch.__version__),
        }

    def _new_loader(self) -> Any:
        return self._workload.loader(self._dataset, self._contestant, self._settings)

    def _taken(self) -> Iterator[tuple[Any, float]]:
        """Every batch, epoch after epoch, and what was waited for it, in ``iter`` too."""
        iterator: Any = None
        waited = 0.0
        while True:
            asked = time.monotonic()
            if iterator is None:
                iterator = iter(self._loader)
            batch = next(iterator, None)
            waited += time.monotonic() - asked
            if batch is None:
                iterator = None
                continue
            yield batch, waited
            del batch
            waited = 0.0

    def _next_begin(self, now: float) -> float | None:
        """When the next segment was begun, if it was; the run's end may have come before."""
        segments = self._scenario.segments
        if len(self._marks) == len(segments):
            return None
        begin = segments[len(self._marks)].begin
        if self._scenario.counted == "samples":
            return now if self._samples >= begin and now < self._scenario.seconds else None
        return begin if now >= begin else None

    def _enter(self, begin: float) -> None:
        number = len(self._marks)
        conditions = self._scenario.segments[number].conditions
        self._marks.append(self._mark(begin))
        if number > 0 and isinstance(self._contestant, Drapps) and self._contestant.by_segment:
            self._loader.policy = self._contestant.policy_of(number)
        self._step.become(conditions.consumer)
        self._validation.become(conditions.validation, conditions.consumer.step)

    def _mark(self, at: float) -> _Mark:
        cpu = cpu_seconds() - self._step.cpu
        return _Mark(at, self._samples, cpu, self._validation.samples)

    def _note_knobs(self, now: float) -> None:
        if not isinstance(self._contestant, Drapps):
            return
        try:
            self._knobs.append((now, self._loader.export_settings()["knobs"]))
        except PipelineError:  # no worker process has started yet
            return

    def _decisions(self) -> list[dict[str, Any]]:
        if not isinstance(self._contestant, Drapps):
            return []
        return [each.to_json() for each in self._loader.explain().decisions.entries]

    def _results(self) -> Iterator[SegmentResult]:
        for number, (mark, after) in enumerate(zip(self._marks[:-1], self._marks[1:], strict=True)):
            figures = measure(self._steps, mark.at, after.at)
            samples = after.samples - mark.samples
            yield SegmentResult(
                number=number,
                name=self._scenario.segments[number].name,
                key=self._scenario.key(number),
                begin=mark.at,
                end=after.at,
                rate=figures.rate,
                stall_share=figures.stall_share,
                cpu_per_sample=(after.cpu - mark.cpu) / samples if samples else None,
                p95_wait=figures.p95_wait,
                time_to_best=figures.time_to_best,
                validation_rate=(after.validated - mark.validated) / (after.at - mark.at),
            )


def checksum(batch: Any) -> int:
    """CRC-32 of a batch's tensors, one behind the other."""
    digest = 0
    for tensor in batch:
        digest = zlib.crc32(tensor.contiguous().numpy().data, digest)
    return digest
