"""What all parts of the scenario share: settings, the journal, and processes that answer jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, Contestant, python
from benchmarks.journal import Journal
from benchmarks.training_step.settings import Settings

CORES = len(os.sched_getaffinity(0))

Key = tuple[Any, ...]


@dataclass
class Bench:
    """One run of the scenario on one kind of device.

    Attributes:
        settings: how much is measured.
        seeds: of the measured trainings.
        device: ``cpu`` or ``cuda``.
        journal: what has been measured.
        result: what becomes of it.
    """

    settings: Settings
    seeds: int
    device: str
    journal: Journal
    result: report.Result

    def ask(self, *key: Any, **job: Any) -> Answer:
        """The answer to a job, of a process of its own; the one that is kept, if there is one."""
        return self.ask_all({key: job})[key]

    def ask_all(self, jobs: Mapping[Key, Mapping[str, Any]]) -> dict[Key, Answer]:
        """The answers to jobs, those that are missing of one process, in turn."""
        missing = [key for key in jobs if self._kept(key) is None]
        if missing:
            program = python("benchmarks.training_step.child")
            with Contestant("training-step", program, {}) as child:
                for key in missing:
                    answer = child.ask(**jobs[key], device=self.device)
                    self.journal.keep(self.device, *key, result=answer)
                    print(f"  {', '.join(map(str, key))}{_summary(answer)}", flush=True)
        return {key: self._kept(key) for key in jobs}

    def name(self, what: str) -> str:
        """Of a figure or ratio, with the device."""
        return f"{what}_{self.device}"

    def _kept(self, key: Key) -> Any:
        return self.journal.get(self.device, *key)


def _summary(answer: Answer) -> str:
    """What is printed of it."""
    if "curve" in answer:
        return f": {answer['curve'][-1][2]:.4f} after {answer['seconds']:.1f} s"
    return f": {answer['cannot']}" if "cannot" in answer else ""
