"""The model of a training, from what the phases of its analysis have measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drapps.analysis.model import Model, loading_cpu_s, overlap_of, predict, together
from drapps.errors import PipelineError

_NOISE = 0.03
_SIDE_BY_SIDE = 0.05  # of a time that is this near to the longer stage's, stages do not take turns
_AGREES = 0.1
_FOREIGN = 0.3  # cores
_WORKS = 0.5  # of the cores, that preparing uses where it does not sleep

_SPINS = 0.25  # cores
_SPINNING = (
    "The training's process uses {cores:.1f} cores beside its steps, which loading could have, as "
    "threads of OpenMP do that spin until the next one: OMP_WAIT_POLICY=PASSIVE ends that."
)
_KEEPS = (
    "The loader keeps {share:.0%} of the samples itself, from its second pass over them on: ask "
    "--what-if cache={share:.0%} for that."
)

PHASES = ("as_it_is", "training", "prepared", "cold", "storage")
Phases = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Fitted:
    """A model, and how it was come by.

    Attributes:
        model: of the training.
        measured: samples/s of the training as it was.
        bound: samples/s that were predicted for that, from the rates alone.
        notes: what to know of it.
        trusted: whether the model tells of the training as it is what was measured, on a machine
            that did nothing else.
    """

    model: Model
    measured: float
    bound: float
    notes: tuple[str, ...]
    trusted: bool


def fit(phases: Phases, about: Mapping[str, Any]) -> Fitted:
    """The model of what was measured.

    Args:
        phases: all of them, by name.
        about: of the loader: ``workers``, ``depth``, ``samples``.

    Raises:
        PipelineError: a phase is missing, or makes no sense.
    """
    missing = [name for name in PHASES if name not in phases]
    if missing:
        raise PipelineError(f"the analysis is not complete: {', '.join(missing)} is missing")
    try:
        return _fitted(phases, about)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise PipelineError(f"the analysis makes no sense: {error!r}") from None


def _fitted(phases: Phases, about: Mapping[str, Any]) -> Fitted:
    as_it_is, alone, prepared = phases["as_it_is"], phases["training"], phases["prepared"]
    there = about["machine"]["cores"]
    used = {each["cores"]: cores_used(each, there) for each in prepared["points"]}
    points = _rates(prepared["points"], there)
    notes: list[str] = []
    model = Model(
        prepare=points,
        ingest=[(alone["batch"], alone["samples"] / alone["seconds"])],
        samples=about["samples"],
        cores=used[prepared["cores"]],
        workers=about["workers"],
        depth=about["depth"],
        overlap_training=0.0 if about["in_turn"] else 1.0,
    )
    foreign = max(each["foreign"] for each in prepared["points"])
    trusted = foreign <= _FOREIGN
    if not trusted:
        notes.append(
            f"Other programs used {foreign:.1f} cores meanwhile: rates are those of a busy machine."
        )
    why = phases["cold"].get("unknown") or phases["storage"].get("unknown")
    if why:
        notes.append(f"Fetching and preparing are one figure: {why}.")
    else:
        model = _with_fetching(model, phases, notes, there)
    measured = as_it_is["samples"] / as_it_is["seconds"]
    model = _with_cpu(model, phases, about, notes)
    bound = predict(model).throughput
    loading = 1 / predict(model, accelerator=1e9, beside=True).throughput
    training = alone["seconds"] / alone["samples"]
    agrees = abs(bound / measured - 1) <= (_SIDE_BY_SIDE if about["in_turn"] is None else _AGREES)
    if not agrees:
        if not about["in_turn"]:
            overlap = overlap_of(loading, training, 1 / measured)
            model = replace(model, overlap_training=overlap)
        error = predict(model).throughput / measured - 1
        if abs(error) > _AGREES:
            trusted = False
            notes.append(
                f"The model predicts {error:+.0%} of what was measured for the training as it is: "
                "something that it does not know takes part, such as other programs, or a step "
                "that the loader's own work slows down."
            )
        elif model.workers:
            notes.append(
                f"Loading and training overlap to {model.overlap_training:.0%} alone: each slows "
                "the other down."
            )
    return Fitted(model, measured, bound, tuple(notes), trusted)


def _with_cpu(model: Model, phases: Phases, about: Mapping[str, Any], notes: list[str]) -> Model:
    """The model with the CPU time of training and preparing, which share the cores.

    Threads of a training that wait for its next step may use cores meanwhile: what its process
    used as it is counts, without what it loaded itself, but no more than it could have had.
    """
    as_it_is, alone, prepared = phases["as_it_is"], phases["training"], phases["prepared"]
    if "cpu_s" not in alone:  # of an earlier version
        return model
    there, measured = about["machine"]["cores"], as_it_is["samples"] / as_it_is["seconds"]
    model = replace(
        model,
        machine_cores=there,
        loading_cpu=_cpu_s(prepared["points"], prepared["cores"]),
        fresh_cpu=_cpu_s(prepared["fresh"], prepared["cores"]) if model.fresh else 0.0,
    )
    loading = loading_cpu_s(model, model.cached, model.cores)
    itself = 0.0 if _loads_apart(about.get("loader", {})) else loading
    steps = alone["cpu_s"] / alone["samples"]
    used = max(steps, as_it_is["cpu_s"] / as_it_is["samples"] - itself)
    used = max(0.0, min(used, there / measured - loading))
    if (used - steps) * measured > _SPINS:
        notes.append(_SPINNING.format(cores=(used - steps) * measured))
    return replace(model, training_cpu=used)


def _loads_apart(loader: Mapping[str, Any]) -> bool:
    """Whether a loader's own processes load, whose CPU time the training's process has not."""
    processes = loader.get("num_workers") or loader.get("worker_count") or 0
    return processes > 0 and not loader.get("native")


def _cpu_s(points: Sequence[Mapping[str, Any]], cores: float) -> float:
    """CPU seconds of a sample, with so many cores."""
    point = next(each for each in points if each["cores"] == cores)
    return float(point["used"] * point["seconds"] / point["samples"])


def _rates(points: Sequence[Mapping[str, Any]], there: float) -> list[tuple[float, float]]:
    """Cores and samples/s."""
    return [(cores_used(each, there), each["samples"] / each["seconds"]) for each in points]


def cores_used(point: Mapping[str, Any], there: float) -> float:
    """Cores that prepared: as many as workers where these sleep, no more than there are else."""
    workers: float = point["cores"]
    works = point["core_share"] * workers >= _WORKS * min(workers, there)
    return min(workers, there) if works else workers


def _with_fetching(model: Model, phases: Phases, notes: list[str], there: float) -> Model:
    """The model with the rates of the storage and of memory, and how fetching overlaps."""
    as_it_is, prepared, cold = phases["as_it_is"], phases["prepared"], phases["cold"]
    storage = phases["storage"]
    size, share = cold["sample_bytes"], cold["cached"]
    around = prepared["held_around"]
    cached = as_it_is["cached"] if as_it_is["cached"] is not None else around
    model = replace(
        model,
        sample_bytes=size,
        storage=storage["rate"],
        memory=storage["memory"],
        requests=storage["requests"] * storage["samples_per_file"],
        cached=min(1.0, max(0.0, cached if cached is not None else 1.0)),
    )
    kept = prepared.get("kept")
    if kept is not None:
        model = _with_kept(model, as_it_is["kept"], kept, prepared, there)
        notes.append(_KEEPS.format(share=_fits(model, kept["budget"])))
    prepare = 1 / predict(model, cache=share).prepare
    both = cold["seconds"] / cold["samples"]
    fetch = 1 / (predict(model, cache=share).fetch or 1e12)
    if both < prepare * (1 - _NOISE):
        notes.append(
            f"Loading from the storage was {1 - both / prepare:.0%} faster than from memory: the "
            "machine did something else meanwhile, so measure again."
        )
    if both > together(fetch, prepare, 0.0) * (1 + _AGREES):
        fetch = both - prepare
        notes.append(
            "The loader fetches slower than its files can be read: what it takes longer with none "
            "of them in memory is what fetching takes."
        )
        model = _slower(model, fetch, share)
    elif both < fetch * (1 - _AGREES):
        notes.append("The loader fetches faster than its files were read one after the other.")
        model = _slower(model, both, share)
        fetch = both
    if abs(both / max(fetch, prepare) - 1) > _SIDE_BY_SIDE:
        model = replace(model, overlap_loading=overlap_of(fetch, prepare, both))
    return model


def _with_kept(
    model: Model,
    share: float,
    kept: Mapping[str, Any],
    prepared: Mapping[str, Any],
    there: float,
) -> Model:
    """The model of a loader that keeps samples itself, which it then does not fetch."""
    return replace(
        model,
        memory=None,
        cached=share,
        fresh=_rates(prepared["fresh"], there),
        kept_bytes=max(1.0, kept["bytes"] / kept["samples"]),
        beside_cache=min(1.0, max(0.0, prepared["held_around"] or 0.0)),
    )


def _fits(model: Model, budget: float) -> float:
    """The share of the data that the loader itself has room for."""
    return min(1.0, budget / max(1.0, model.samples * (model.kept_bytes or 1.0)))


def _slower(model: Model, fetch: float, share: float) -> Model:
    """The model whose storage makes fetching take `fetch` s a sample with `share` in memory."""
    assert model.sample_bytes is not None
    cached = model.sample_bytes / model.memory if model.memory else 0.0
    stored = (fetch - share * cached) / (1 - share)
    return replace(model, storage=model.sample_bytes / max(stored, 1e-12), requests=None)
