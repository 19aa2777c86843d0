"""What ``drapps.analyze`` gives and ``drapps analyze`` prints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drapps.analysis.fit import fit
from drapps.analysis.journal import load
from drapps.analysis.model import Model, Prediction, predict
from drapps.analysis.recommendation import Machine, Recommendation, recommend
from drapps.errors import PipelineError
from drapps.report.base import Report, mib, page
from drapps.report.stats import seconds

_WORKERS = {"tf.data": "num_parallel_calls", "grain": "worker_count"}
_MEMORY = 0.5  # share of the machine's memory that may cache files


@dataclass(frozen=True, eq=False, repr=False)
class AnalysisReport(Report):
    """What a training waits for, and what would help; it prints as a page.

    Attributes:
        measured: samples/s of the training as it is.
        bound: samples/s that its rates alone predict for it.
        now: the prediction for it, with how much its stages overlap.
        recommendation: what would help.
        attribution: seconds of each batch, with none of the data in memory: ``training``,
            ``prepare`` (the stall that is left with all of them in memory) and ``fetch`` (what
            comes on top), where that is known.
        notes: what to know of it.
        trusted: whether the model tells of the training as it is what was measured, on a machine
            that did nothing else; where it does not, measure again on one that is quiet.
        model: all that predictions are made of: `Model` as JSON.
        about: the training: its loader and its machine.
        phases: what was measured.
    """

    measured: float
    bound: float
    now: Prediction
    recommendation: Recommendation
    attribution: Mapping[str, float]
    notes: tuple[str, ...]
    trusted: bool
    model: Mapping[str, Any]
    about: Mapping[str, Any]
    phases: Mapping[str, Any]

    @classmethod
    def of(cls, facts: Mapping[str, Any], stall: float = 0.05) -> AnalysisReport:
        """The report of a stored analysis.

        Raises:
            PipelineError: it is not complete.
        """
        about, phases = facts["about"], facts["phases"]
        fitted = fit(phases, about)
        model = fitted.model
        there, prepared = about["machine"]["cores"], phases["prepared"]
        now = next(each for each in prepared["points"] if each["cores"] == prepared["cores"])
        machine = Machine(
            cores=there,
            memory=about["machine"]["memory"] * _MEMORY,
            core_share=min(1.0, now["core_share"] * now["cores"] / min(now["cores"], there)),
            ours=bool(about["loader"].get("native")),
            budget=prepared.get("kept", {}).get("budget", 0.0),
            workers=_WORKERS.get(about["loader"].get("kind"), "num_workers"),
        )
        return cls(
            measured=fitted.measured,
            bound=fitted.bound,
            now=predict(model),
            recommendation=recommend(model, machine, stall),
            attribution=_attributed(model),
            notes=fitted.notes,
            trusted=fitted.trusted,
            model=model.to_json(),
            about=about,
            phases=phases,
        )

    def predict(self, **wanted: Any) -> Prediction:
        """How the training would run: `drapps.analysis.model.predict` has the arguments.

        Raises:
            PipelineError: a number that makes no sense, or lies too far from what was measured.
        """
        return predict(Model.from_json(self.model), **wanted)

    def joined(self, other: AnalysisReport) -> AnalysisReport:
        """This report, whose model knows the batch size of another one of the training, too."""
        ingest = [*self.model["ingest"], *other.model["ingest"]]
        return replace(self, model={**self.model, "ingest": ingest})

    @property
    def sentence(self) -> str:
        """What binds, in one sentence."""
        now, stall = self.now, self.now.stall
        if stall <= self.recommendation.stall:
            return f"Your training is bound by its own step: {stall:.0%} of its time is stall."
        what = "fetching its data" if now.bottleneck == "fetch" else "preparing its samples"
        if now.bottleneck == "training":
            turns = "takes turns with the steps" if self.about["in_turn"] else "its steps slow down"
            what = f"loading, which {turns}"
        elif now.bottleneck == "cores":
            what = "cores, which loading and training share"
        return f"Your training waits for {stall:.0%} of its time, for {what}."

    def __str__(self) -> str:
        return "\n".join([self.sentence, self._to_do(), "", page(self._rows())])

    def _to_do(self) -> str:
        asked = self.recommendation
        if asked.gain < 1.02:
            return asked.action
        return f"{asked.action} (predicted: {asked.gain:.2f} times as fast)"

    def _rows(self) -> Iterator[tuple[str, str]]:
        now, asked = self.now, self.recommendation
        yield "as it is", f"{self.measured:,.0f} samples/s measured, {self.bound:,.0f} predicted"
        fetch = "" if now.fetch is None else f"fetch {now.fetch:,.0f}, "
        yield (
            "each alone",
            f"{fetch}prepare {now.prepare:,.0f}, training {now.training:,.0f} samples/s",
        )
        if self.trusted:
            yield "honest", ("" if now.honest else "no, ") + now.regime
        else:
            yield "honest", "no: see the notes, and measure again on a quiet machine"
        parts = ", ".join(f"{name} {seconds(each)}" for name, each in self.attribution.items())
        cold = ", with none of the data in memory" if "fetch" in self.attribution else ""
        yield "a batch takes", f"{parts}{cold}"
        if self.model["sample_bytes"]:
            size = self.model["sample_bytes"]
            yield (
                "data",
                f"{size / 1024:,.1f} KiB a sample, {self.model['cached']:.0%} in memory; the "
                f"storage reads {mib(self.model['storage'])}/s",
            )
        least = f"{asked.cores:g} {'core' if asked.cores == 1 else 'cores'} that prepare"
        if asked.cache is not None and asked.bandwidth is not None:
            least += f", with {asked.cache:.0%} of the data in memory or a storage that reads "
            least += f"{mib(asked.bandwidth)}/s"
        yield "is enough", least
        if not asked.enough:
            yield "", f"and yet the stall stays above {asked.stall:.0%}"
        for number, note in enumerate(self.notes):
            yield ("" if number else "note"), note


def _attributed(model: Model) -> dict[str, float]:
    """Seconds of a batch: its step, what preparing adds to it, and what fetching adds to both."""
    batch = model.ingest[0][0]
    alone = batch / predict(model).training
    cached = batch / predict(model, cache=1.0).throughput
    parts = {"training": alone, "prepare": cached - alone}
    if model.fetches:
        parts["fetch"] = batch / predict(model, cache=0.0).throughput - cached
    return parts


def stored_at(path: str | os.PathLike[str], stall: float = 0.05) -> AnalysisReport:
    """The report of a file that an analysis has written.

    Raises:
        PipelineError: it is none, or not complete.
    """
    stored = load(Path(path))
    try:
        return AnalysisReport.of(stored, stall)
    except PipelineError as error:
        raise PipelineError(f"{os.fspath(path)}: {error}") from None
