"""What has changed between two analyses, and whether what the first predicted has held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drapps.analysis.model import Model, predict
from drapps.analysis.report import AnalysisReport
from drapps.errors import PipelineError
from drapps.report.base import mib

_HELD = 0.1  # an error that a prediction may have
_OTHER = 0.1  # a rate that differs by more has changed


def compared(before: AnalysisReport, now: AnalysisReport) -> str:
    """What has changed, and whether the first one's model foresaw what came of it.

    That model is asked for the cores of the second, its share of data in memory, its storage and
    its training step where these have changed; the answer is held against what was measured.
    """
    old, new = Model.from_json(before.model), Model.from_json(now.model)
    gained = now.measured / before.measured
    lines = [
        f"Before, {before.measured:,.0f} samples/s; now {now.measured:,.0f}: {gained:.2f} times as "
        f"fast. The stall was {before.now.stall:.0%}, and is {now.now.stall:.0%}."
    ]
    changes = dict(_changes(before, now, old, new))
    if not changes:
        return f"{lines[0]}\nOf cores, data in memory, storage and training step none has changed."
    lines.append(f"Changed: {'; '.join(changes)}.")
    wanted: dict[str, Any] = {}
    for each in changes.values():
        wanted |= each
    try:
        foreseen = predict(old, **wanted).throughput
    except PipelineError as error:
        return "\n".join([*lines, f"What was measured before does not tell of this: {error}."])
    off = foreseen / now.measured - 1
    held = "it has held" if abs(off) <= _HELD else "it has not held"
    lines.append(
        f"For this {foreseen:,.0f} samples/s were predicted, {off:+.0%} of what was measured: "
        f"{held}."
    )
    return "\n".join(lines)


def _changes(
    before: AnalysisReport, now: AnalysisReport, old: Model, new: Model
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each change in words, with the arguments of `predict` that stand for it."""
    in_turn, beside = (bool(each.about["in_turn"]) for each in (before, now))
    if in_turn and not beside:
        yield "samples are prepared beside the training, not in turn with it", {"beside": True}
    if new.cores != old.cores:
        yield f"prepared on {new.cores:g} cores, not {old.cores:g}", {"cores": new.cores}
    if old.fetches and new.fetches:
        assert old.storage is not None and new.storage is not None
        if abs(new.cached - old.cached) > _OTHER:
            text = f"{old.cached:.0%} of the data in memory are now {new.cached:.0%}"
            yield text, {"cache": new.cached}
        if _differs(new.storage, old.storage):
            text = f"a storage of {mib(old.storage)}/s is now one of {mib(new.storage)}/s"
            yield text, {"bandwidth": new.storage}
    alone, then = now.now.training, before.now.training
    if _differs(alone, then):
        text = f"a training step of {then:,.0f} samples/s is now one of {alone:,.0f}"
        yield text, {"accelerator": alone / then}


def _differs(one: float, other: float) -> bool:
    return abs(one / other - 1) > _OTHER
