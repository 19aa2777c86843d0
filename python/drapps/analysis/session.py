"""The phases of an analysis: batches to train on, and the loader with nobody to wait for.

A training takes what `Session.batches` gives: first real batches of the loader as it is, then the
same few again and again, so that nothing is loaded. Behind them the loader is drained over a part
of the data: with all of it in memory, with several numbers of cores, and with none of it.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drapps.analysis.files import Files, Holding, OpenEvents, files_of
from drapps.analysis.fit import PHASES
from drapps.analysis.journal import Journal
from drapps.analysis.loaders import AnyLoader, Drained, size_of
from drapps.errors import PipelineError

_WARM_UP, _LEAST, _MOST = 5, 8, 400  # batches
_KEPT = 4  # batches that are given again and again
_RESIDENT, _GONE = 0.99, 0.05  # shares of the data
_BLOCK = 4096
_ROUNDS = 5
_EMPTY = 20  # passes without a step
_OVER = object()


@dataclass(frozen=True)
class Plan:
    """How an analysis is done.

    Attributes:
        seconds: of each phase, about.
        steps: of the training in each phase; 0: as many as `seconds` have.
        data: the folder of the data; None: it is to be found out.
        cap: the share of the data that the cold phase may have in memory.
    """

    seconds: float = 10.0
    steps: int = 0
    data: str | None = None
    cap: float = 0.0


class Session:
    """One analysis of one loader."""

    def __init__(
        self,
        loader: AnyLoader,
        plan: Plan,
        journal: Journal,
        progress: Callable[[str], None] = lambda _: None,
        holding: Holding | None = None,
        opened: OpenEvents | None = None,
    ) -> None:
        """What was measured before is not measured again.

        Args:
            loader: what is measured.
            plan: how.
            journal: takes what was measured.
            progress: is told what is done now.
            holding: the data; by default the files that the loader is seen to read.
            opened: hears which those are.
        """
        self._loader, self._plan, self._journal = loader, plan, journal
        self._progress = progress
        self._holding = holding
        self._from = "the caller" if holding is not None else ""
        self._opened = opened
        self._recent: collections.deque[Any] = collections.deque(maxlen=_KEPT)

    @property
    def complete(self) -> bool:
        """Whether all phases are there."""
        return all(name in self._journal.phases for name in PHASES)

    def batches(self) -> Iterator[Any]:
        """Batches to train on; when they end, everything is measured.

        Raises:
            PipelineError: the loader gives too little to be measured.
            OSError: a file of its data cannot be read.
        """
        if "as_it_is" not in self._journal.phases:
            self._tell("as_it_is", "the training as it is")
            yield from self._as_it_is()
        if "training" not in self._journal.phases:
            self._tell("training", "the training step alone")
            yield from self._alone()
        self._measure()

    def _tell(self, phase: str, what: str) -> None:
        number = PHASES.index(phase)
        left = (len(PHASES) - number) * self._plan.seconds
        self._progress(f"{number + 1} of {len(PHASES)}: {what}; at most some {left:.0f} s left")

    def _as_it_is(self) -> Iterator[Any]:
        meter = _Meter(self._plan)
        held = None
        if self._holding is not None:
            held = self._holding.held()
        hits = 0
        for number, passed in enumerate(self._loader.passes()):
            if number >= _EMPTY and not meter.steps:
                raise PipelineError(
                    f"a pass over {self._loader.about['class']} has too few batches to be measured"
                )
            warm = self._warm_up()
            while True:
                asked = time.perf_counter()
                batch = next(passed, _OVER)
                if batch is _OVER:
                    meter.rests()
                    break
                waited = time.perf_counter() - asked
                self._recent.append(_again(batch))
                size = size_of(batch)
                yield batch
                del batch
                if warm:
                    warm -= 1
                    if not warm:
                        hits = self._hits()
                        meter.begins()
                elif meter.takes(size, waited):
                    facts = meter.facts() | {"cached": held}
                    kept = min(1.0, (self._hits() - hits) / max(1, facts["samples"]))
                    self._journal.keep("as_it_is", facts | {"kept": kept})
                    return

    def _hits(self) -> int:
        """Samples that the loader had in memory itself when they were asked for."""
        kept = self._loader.kept()
        return 0 if kept is None else kept.hits

    def _warm_up(self) -> int:
        """Batches at the beginning of a pass that are not counted: those that were ready ahead."""
        warm = max(_WARM_UP, self._loader.depth + 1)
        try:
            return max(1, min(warm, len(self._loader.loader) // 4))
        except TypeError:
            return warm

    def _alone(self) -> Iterator[Any]:
        if not self._recent:
            for passed in self._loader.passes():
                self._recent.extend(itertools.islice(passed, _KEPT))
                break
        meter = _Meter(self._plan)
        kept = list(self._recent)
        sizes = [size_of(batch) for batch in kept]
        number = 0
        while True:
            yield _again(kept[number % len(kept)])
            number += 1
            if number == _WARM_UP:
                meter.begins()
            elif number > _WARM_UP and meter.takes(sizes[(number - 1) % len(kept)], 0.0):
                break
        self._journal.keep("training", meter.facts() | {"batch": sum(sizes) / len(sizes)})

    def _measure(self) -> None:
        """All that needs no training."""
        if self.complete:
            return
        self._tell("prepared", "preparing, with the data in memory")
        self._prefer_files()
        held = self._journal.phase("prepared", self._prepared)["resident"]
        if held is not None and held < _RESIDENT:
            self._from = (
                f"only {held:.0%} of the data that are measured stay in memory, so what "
                "preparing takes cannot be told from fetching"
            )
            self._holding = None
        self._tell("cold", "loading, with the data not in memory")
        self._journal.phase("cold", self._cold)
        self._tell("storage", "the storage")
        self._journal.phase("storage", self._storage)

    def _prefer_files(self) -> None:
        """Draws what is measured, warms it up, and finds its files."""
        loader, plan = self._loader, self._plan
        loader.draw(_MOST)
        warmed = self._heard(loader, plan.seconds)
        if warmed.batches < _MOST:
            loader.draw(warmed.batches)
            self._heard(loader, float("inf"))
        if self._holding is not None:
            return
        named = loader.files()
        if named and loader.samples and plan.data is None:
            self._holding, self._from = Files(named, loader.samples), "the files that it names"
            return
        dataset, indices = loader.indices()
        heard = self._opened.heard() if self._opened is not None else []
        holding, self._from = files_of(plan.data, dataset, indices, heard, loader.samples)
        self._holding = holding

    def _heard(self, loader: AnyLoader, most_s: float) -> Drained:
        if self._opened is None:
            return loader.drain(most_s=most_s)
        self._opened.clear()
        self._opened.listening = True
        try:
            return loader.drain(most_s=most_s)
        finally:
            self._opened.listening = False

    def _prepared(self) -> Mapping[str, Any]:
        held = around = None
        if isinstance(self._holding, Files):
            around = self._holding.held_around()
        if self._holding is not None:
            held = self._holding.hold(1.0)
        drains = [functools.partial(self._loader.drain, cores) for cores in self._loader.choices]
        figures = {
            "points": _medians(drains, self._plan.seconds),
            "cores": self._loader.cores,
            "resident": held,
            "files": self._from,
            "held_around": around,
        }
        kept = self._loader.kept_alike()
        if kept is not None and kept.samples and self._holding is not None:
            self._loader.fresh = True
            fresh = {"fresh": _medians(drains, self._plan.seconds)}
            return figures | fresh | {"kept": asdict(kept)}
        return figures

    def _cold(self) -> Mapping[str, Any]:
        if self._holding is None:
            return {"unknown": self._from}
        holding, cap = self._holding, self._plan.cap
        cached = holding.hold(cap)
        if cached > cap + _GONE:
            self._holding, self._from = None, f"{cached:.0%} of the data do not leave memory"
            return {"unknown": self._from}

        def drain() -> Drained:
            holding.hold(cap)
            return self._loader.drain()

        self._loader.fresh = True
        (median,) = _medians([drain], self._plan.seconds)
        return median | {"cached": cached, "sample_bytes": holding.sample_bytes}

    def _storage(self) -> Mapping[str, Any]:
        if self._holding is None:
            return {"unknown": self._from}
        depth, most_s = max(1, self._loader.workers), self._plan.seconds
        self._holding.hold(0.0)
        requests = self._holding.read(depth, most_s / 2, _BLOCK)
        self._holding.hold(0.0)
        stored = self._holding.read(depth, most_s)
        self._holding.hold(1.0)
        cached = self._holding.read(depth, most_s)
        return {
            "depth": depth,
            "rate": stored.rate,
            "latency_s": requests.latency_s,
            "requests": requests.files / max(1e-9, requests.seconds),
            "memory": cached.rate,
            "samples_per_file": stored.bytes / max(1, stored.files) / self._holding.sample_bytes,
        }


class _Meter:
    """Counts steps, and the time from the end of one to the end of another.

    Attributes:
        steps: that were counted, up to the last rest.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._samples = self.steps = 0
        self._seconds = self._waited = self._cpu_s = 0.0
        self._open: tuple[float, float, int, int, float] | None = None

    def begins(self) -> None:
        """From now on steps count."""
        synchronise()
        self._open = (time.perf_counter(), time.process_time(), 0, 0, 0.0)

    def takes(self, samples: int, waited: float) -> bool:
        """A step was done. Returns whether that is enough."""
        assert self._open is not None
        begun, used, steps, size, wait = self._open
        self._open = (begun, used, steps + 1, size + samples, wait + waited)
        done, spent = self.steps + steps + 1, self._seconds + time.perf_counter() - begun
        wanted = self._plan.steps or _LEAST
        if done < wanted or (not self._plan.steps and spent < self._plan.seconds and done < _MOST):
            return False
        self.rests()
        return True

    def rests(self) -> None:
        """What comes now is no step."""
        if self._open is None:
            return
        synchronise()
        begun, used, steps, samples, waited = self._open
        self._seconds += time.perf_counter() - begun
        self._cpu_s += time.process_time() - used
        self.steps, self._samples = self.steps + steps, self._samples + samples
        self._waited += waited
        self._open = None

    def facts(self) -> dict[str, Any]:
        """What was counted, JSON-able."""
        return {
            "samples": self._samples,
            "steps": self.steps,
            "seconds": self._seconds,
            "waited_s": self._waited,
            "cpu_s": self._cpu_s,
        }


def _medians(drains: Sequence[Callable[[], Drained]], most_s: float) -> list[dict[str, Any]]:
    """The median of each measurement, over as many of a few rounds as there is time for."""
    begun = time.perf_counter()
    rounds = [[drain() for drain in drains]]
    while len(rounds) < _ROUNDS and time.perf_counter() - begun < most_s:
        rounds.append([drain() for drain in drains])
    medians = []
    for each in zip(*rounds, strict=True):
        ordered = sorted(each, key=lambda drained: drained.samples / drained.seconds)
        medians.append(asdict(ordered[len(ordered) // 2]))
    return medians


def synchronise() -> None:
    """Waits for all that the training has launched on a GPU."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available() and cuda.is_initialized():
        cuda.synchronize()


def _again(batch: Any) -> Any:
    """A batch with the same arrays, in containers of its own, from which a training may take."""
    if isinstance(batch, (dict, list)):
        container = copy.copy(batch)
        for key in batch if isinstance(batch, dict) else range(len(batch)):
            container[key] = _again(batch[key])
        return container
    return copy.copy(batch) if isinstance(batch, collections.UserDict) else batch
