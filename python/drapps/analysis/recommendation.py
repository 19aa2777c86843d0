"""What a training needs least of each resource, and the one thing to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from drapps.analysis.model import MOST_EXTRAPOLATION, Model, Prediction, predict
from drapps.errors import PipelineError
from drapps.report.base import Report, mib

_MOST_BANDWIDTH = 100.0  # times that which was measured
_WORKS = 0.5  # share of its time in which what prepares samples uses a core


@dataclass(frozen=True)
class Machine:
    """What is there to use more of.

    Attributes:
        cores: that the training may use.
        memory: bytes that may cache files.
        core_share: share of its time in which what prepares samples uses its core, 0 to 1.
        ours: whether the loader is a native one of this package.
        budget: bytes that the loader itself may keep samples in.
        workers: how the loader calls the number of its workers.
    """

    cores: float = 1.0
    memory: float = 0.0
    core_share: float = 1.0
    ours: bool = False
    budget: float = 0.0
    workers: str = "num_workers"


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Report):
    """What would help.

    Attributes:
        stall: share of waiting that is small enough.
        cache: least share of the dataset in memory from which on more of it gains nothing; None
            where fetching is not known.
        cores: likewise, cores that prepare samples.
        bandwidth: likewise, bytes/s of the storage with nothing in memory; None where fetching is
            not known.
        enough: whether these together bring the stall down to `stall`.
        binding: the resource to have more of: ``cache``, ``bandwidth``, ``cores``, ``workers``, or
            ``accelerator`` where the training does not wait.
        action: one thing to do.
        throughput: samples/s that are predicted with it.
        gain: how many times as fast that is as the prediction for the training as it is.
        what_if: the arguments of `predict` that stand for it.
        settings: arguments of a loader of this package that do it.
    """

    stall: float
    cache: float | None
    cores: float
    bandwidth: float | None
    enough: bool
    binding: str
    action: str
    throughput: float
    gain: float
    what_if: Mapping[str, Any]
    settings: Mapping[str, Any]


def recommend(model: Model, machine: Machine, stall: float = 0.05) -> Recommendation:
    """The least cache, cores and bandwidth, and what to do first.

    What a resource needs is judged with the others as they are wanted: each is the least with
    which the stall is small enough, or, where no more of it does that, of which more would gain
    less than that share.

    Args:
        model: what was measured.
        machine: where it was.
        stall: share of waiting that is small enough, between 0 and 1.

    Raises:
        PipelineError: `stall` is no such share.
    """
    if not 0 < stall < 1:
        raise PipelineError(f"stall={stall:g} must be a share of the time, between 0 and 1")
    now = predict(model)
    most = MOST_EXTRAPOLATION * max(float(cores) for cores, _ in model.prepare)
    beside = now.stall > stall and model.overlap_training < 0.5
    best: dict[str, Any] = {"beside": True} if beside else {}

    def at(**wanted: Any) -> float:
        """Share of its time in which the training trains."""
        return predict(model, **best | wanted).throughput / now.training

    cores = _least(lambda cores: at(cores=cores, cache=_full(model)), 1.0, most, stall, 0.01)
    cores = float(-(-cores // 1))  # whole ones
    cache = bandwidth = None
    if model.fetches:
        assert model.storage is not None
        enough_cores = max(cores, model.cores)
        cache = _least(lambda share: at(cache=share, cores=enough_cores), 0.0, 1.0, stall, 1e-3)
        bandwidth = _least(
            lambda rate: at(bandwidth=rate, cache=0.0, cores=enough_cores),
            model.storage / _MOST_BANDWIDTH,
            model.storage * _MOST_BANDWIDTH,
            stall,
            model.storage * 1e-3,
        )
    together = at(cores=max(cores, model.cores), cache=max(cache or 0.0, model.cached))
    enough = 1 - together <= stall + 0.005
    needs = _Needs(model, machine, now, cache, cores, bandwidth, beside)
    binding, action, what_if, settings = needs.first(stall)
    helped = predict(model, **what_if).throughput
    return Recommendation(
        stall=stall,
        cache=cache,
        cores=cores,
        bandwidth=bandwidth,
        enough=enough,
        binding=binding,
        action=action,
        throughput=helped,
        gain=helped / now.throughput,
        what_if=what_if,
        settings=settings,
    )


def _full(model: Model) -> float | None:
    return 1.0 if model.fetches else None


def _least(
    rate: Callable[[float], float], low: float, high: float, stall: float, exact: float
) -> float:
    """The least value with a stall of `stall`; if none has, of which more gains less than that.

    Args:
        rate: share of its time in which the training trains, which rises.
        low: the least value.
        high: the most.
        stall: share of waiting.
        exact: how exact the value is to be.
    """
    wanted = 1 - stall if rate(high) >= 1 - stall else (1 - stall) * rate(high)
    if rate(low) >= wanted:
        return low
    while high - low > exact:
        middle = (low + high) / 2
        if rate(middle) >= wanted:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True)
class _Needs:
    """What is needed least, from which the first thing to do follows."""

    model: Model
    machine: Machine
    now: Prediction
    cache: float | None
    cores: float
    bandwidth: float | None
    beside: bool

    def first(self, stall: float) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
        """The binding resource, what to do, and that as arguments of `predict` and of a loader."""
        if self.now.stall <= stall:
            action = "Nothing about the loading: a faster training step is what would help."
            return "accelerator", action, {}, {}
        if self.now.bottleneck == "fetch":
            return self._fetching()
        return self._preparing()

    def _fetching(self) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
        model = self.model
        assert self.cache is not None and self.bandwidth is not None
        size = self.cache * model.samples * (model.kept_bytes or model.sample_bytes or 0.0)
        if model.kept_bytes and size <= self.machine.budget:
            action = f"Nothing: behind its first pass the loader keeps {self.cache:.0%} of the data"
            return "cache", f"{action} itself ({mib(size)}).", {"cache": self.cache}, {}
        if self.cache > model.cached and size <= self.machine.memory:
            action = f"Keep {self.cache:.0%} of the data in memory ({mib(size)})."
            settings = {"ram_budget": round(size)}
            return "cache", action, {"cache": self.cache}, settings
        rate = max(self.bandwidth, model.storage or 0.0)
        action = f"Put the data on a storage that reads {mib(rate)}/s"
        action += f"; to keep them in memory takes {mib(size)}." if size else "."
        return "bandwidth", action, {"bandwidth": rate}, {}

    def _preparing(self) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
        model, machine = self.model, self.machine
        there = machine.cores if machine.core_share >= _WORKS else self.cores
        wanted = max(1.0, min(self.cores, float(int(there))))
        if wanted > model.cores or (self.beside and wanted >= model.cores):
            what_if: dict[str, Any] = {"cores": wanted}
            if self.beside:
                what_if["beside"] = True
            settings = {"cpu_budget": wanted} if machine.ours else {machine.workers: int(wanted)}
            how = ", ".join(f"{name}={value:g}" for name, value in settings.items())
            many = "a worker" if wanted == 1 else f"{wanted:.0f} workers"
            action = f"Prepare samples in {many} beside the training: {how}."
            gained = predict(model, **what_if).throughput / self.now.throughput
            if gained >= 1.02:
                return "workers", action, what_if, settings
        if self.cores > model.cores:
            what_if = {"cores": self.cores}
            action = (
                f"Give the preparation {self.cores:.0f} cores, where it has {model.cores:g}; or "
                "make it cheaper, as drapps.torch.DataLoader does of what it runs natively: drapps "
                "lift train.py"
            )
            return "cores", action, what_if, {}
        if self.now.bottleneck in ("training", "cores"):
            action = (
                "Give the machine more cores: loading and training slow each other down on these."
            )
            return "cores", action, {}, {}
        action = (
            "Make the preparation cheaper: more cores do not, by what was measured. "
            "drapps watch names the line."
        )
        return "cores", action, {}, {}
