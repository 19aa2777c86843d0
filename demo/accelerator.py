"""Part two, as it runs in its own process: an emulated accelerator and a burst of foreign load.

A network on the CPU is itself what holds training up, and takes its share of the CPU whoever
feeds it. An accelerator does neither. Here it is a step that sleeps: it takes a set time, no CPU,
and no part in the outcome. After a quiet while the parent starts processes that have nothing to do
with training and use every core, and ends them again later: a neighbour's job on a shared machine.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from demo import feeds
from demo.settings import BATCH
from demo.train import Emit

_SETTINGS_PERIOD_S = 0.25


def run(spec: dict[str, Any], emit: Emit) -> None:
    """Feeds the emulated accelerator through the three phases `spec["phases"]` (seconds each).

    Emits `step`, `load` (to start and to end the foreign load) and, at the end, one `series` event
    with every step, the settings over time and what `explain()` says. Times count from the first
    batch on. What DRAPPS decides is recorded in the new file `spec["trace"]`.
    """
    torch.manual_seed(spec["seed"])
    native = spec["feed"] != "stock"
    dataset = feeds.training_set(Path(spec["root"]))
    # One pass that outlasts the run, so that no end of an epoch gets in the way.
    most = int(2 * sum(spec["phases"]) / spec["step_s"] + 2) * BATCH
    sampler = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=most)
    extra = {"policy": spec["policy"]} if native else {}
    loader = feeds.loader(
        spec["feed"], dataset, spec["workers"], train=True, sampler=sampler, **extra
    )
    recording = loader.record(spec["trace"]) if native and loader.lifted() else None
    emit({"event": "ready"})
    series = _Series(spec, emit, loader if native and loader.lifted() else None)
    iterator = iter(loader)
    while not series.finished:
        asked = time.perf_counter()
        batch = next(iterator)
        waited = time.perf_counter() - asked
        time.sleep(spec["step_s"])
        series.stepped(len(batch[1]), waited)
    if recording is not None:
        recording.stop()
    explained = loader.explain() if native else None
    emit({"event": "series", **series.figures(), "explain": explained})


class _Series:
    """What happened at each step, and where the run stands in its phases."""

    def __init__(self, spec: dict[str, Any], emit: Emit, steered: Any | None) -> None:
        self._quiet_s, self._burst_s, after_s = spec["phases"]
        self._total_s = self._quiet_s + self._burst_s + after_s
        self._emit = emit
        self._steered = steered  # the loader whose knobs are recorded
        self._begin = self._last_emit = self._looked = 0.0
        self._loaded = False
        self._steps: list[tuple[float, float, int]] = []
        self._knobs: list[tuple[float, dict[str, Any]]] = []
        self._burst: list[float] = []
        self.finished = False

    def stepped(self, samples: int, waited: float) -> None:
        """Takes in one step that has just ended."""
        now = time.perf_counter()
        if not self._begin:  # the first batch only starts the clock
            self._begin = now
            return
        at = now - self._begin
        self._steps.append((at, waited, samples))
        self._switch_load(at)
        if self._steered is not None and now - self._looked > _SETTINGS_PERIOD_S:
            self._looked = now
            self._knobs.append((at, self._steered.export_settings()["knobs"]))
        if now - self._last_emit > 0.1:
            self._last_emit = now
            note = "foreign load on every core" if self._loaded else ""
            self._emit({"event": "step", "done": at, "total": self._total_s, "note": note})
        self.finished = at >= self._total_s

    def _switch_load(self, at: float) -> None:
        wanted = self._quiet_s <= at < self._quiet_s + self._burst_s
        if wanted != self._loaded:
            self._loaded = wanted
            self._burst.append(at)
            self._emit({"event": "load", "on": wanted})

    def figures(self) -> dict[str, Any]:
        """What was seen: (time, waited, samples) of each step, (time, knobs), and when load ran."""
        return {"steps": self._steps, "settings": self._knobs, "burst": self._burst}
