"""Policies that learn on simulated machines or from recorded runs, several seeds side by side.

A training is a function of its options: the same ones give the same weights. Where it is told a
folder it leaves checkpoints there, and goes on from them.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.simulation.cases import value
from drapps.simulation.gate import NOTHING_SPECIAL, cases_of, learned_text, rates_begun, rates_held

CHECKPOINT_EVERY = 30.0  # seconds
_POINTS = 60  # of a curve that a card keeps
_TOLD_EVERY = 1.0  # seconds between two looks at a curve
_WAIT = 0.2  # seconds between two looks at how far all are

Options = Mapping[str, Any]
Curve = list[dict[str, float]]


@dataclass(frozen=True)
class Trained:
    """What came of one seed.

    Attributes:
        seed: from which all was drawn.
        weights: base64, as a policy takes them.
        curve: of every update, by ``decisions``.
        score: the mean value on validation machines; 0 where none were asked for.
        support: what the recorded runs say that it learnt from; None where it tried things itself.
    """

    seed: int
    weights: str
    curve: Curve
    score: float = 0.0
    support: Mapping[str, Any] | None = None


class _Run:
    """One seed under way."""

    def __init__(
        self, options: Options, seed: int, folder: Path | None, runs: Sequence[Path]
    ) -> None:
        self.seed = seed
        self._runs = [os.fsencode(run) for run in runs]
        self.curve: Curve = []
        self._asked = json.dumps({**options, "seed": seed})
        self._file = folder / f"seed-{seed}.training" if folder else None

    def train(self, stopped: threading.Event) -> Trained:
        """Trains to the end, or to a checkpoint where it is stopped."""
        trainer = self._begun()
        saved = curve_time = time.monotonic()
        while not trainer.done and not stopped.is_set():
            trainer.go_on()
            now = time.monotonic()
            if now - curve_time >= _TOLD_EVERY:
                self.curve = json.loads(trainer.curve())
                curve_time = now
            if now - saved >= CHECKPOINT_EVERY:
                self._save(trainer)
                saved = now
        self.curve = json.loads(trainer.curve())
        self._save(trainer)
        return Trained(
            self.seed,
            base64.b64encode(trainer.weights()).decode(),
            self.curve,
            support=json.loads(trainer.support),
        )

    def _begun(self) -> Any:
        try:
            if self._file is None or not self._file.exists():
                return _core.PolicyTrainer(self._asked, self._runs)
            trainer = _core.PolicyTrainer.restored(self._file.read_bytes(), self._runs)
            wanted = json.loads(trainer.options) | json.loads(self._asked)
        except ValueError as error:
            where = f"{self._file}: " if self._file and self._file.exists() else ""
            raise PipelineError(f"{where}{error}") from None
        if json.loads(trainer.options) != wanted:
            raise PipelineError(
                f"{str(self._file)!r} is a checkpoint of a training with other options: "
                "take another folder, or those options"
            )
        return trainer

    def _save(self, trainer: Any) -> None:
        if self._file is None:
            return
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(trainer.save())
        fresh.replace(self._file)


def train(
    options: Options,
    seeds: Sequence[int],
    *,
    runs: Sequence[Path] = (),
    checkpoints: Path | None = None,
    validation: int = 0,
    progress: Callable[[Mapping[int, Curve]], None] | None = None,
) -> list[Trained]:
    """Trains a policy from each seed, as many at once as there are cores.

    Args:
        options: of ``src/drapps/training/trainer.h``, but for the seed.
        seeds: one for each policy.
        runs: traces (``loader.record()``), for the learners ``cloning``, ``awac``, ``cql`` and
            ``bcq``, which try nothing themselves.
        checkpoints: a folder in which each is kept every half minute, and from which it goes on.
        validation: on how many machines that no training has seen each is scored.
        progress: is told the curves so far, several times a second.

    Returns:
        The policies in the order of their seeds.

    Raises:
        PipelineError: an option that cannot be, a checkpoint of another training, or runs that
            say nothing.
        OSError: a checkpoint could not be written.
    """
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
    trainings = [_Run(options, seed, checkpoints, runs) for seed in seeds]
    stopped = threading.Event()
    with ThreadPoolExecutor(min(len(trainings), len(os.sched_getaffinity(0)))) as pool:
        futures = [pool.submit(run.train, stopped) for run in trainings]
        try:
            while not all(future.done() for future in futures):
                if progress:
                    progress({run.seed: run.curve for run in trainings})
                time.sleep(_WAIT)
                if any(future.done() and future.exception() for future in futures):
                    stopped.set()  # so that the others end, too
                    break
            policies = [future.result() for future in futures]
        finally:
            stopped.set()
    return scored(policies, validation, options.get("learner", "ppo"))


def scored(trained: Sequence[Trained], cases: int, name: str = "ppo") -> list[Trained]:
    """The policies, scored by mean rates over the best known on so many validation machines."""
    if not cases:
        return list(trained)
    where = cases_of(cases, 0, NOTHING_SPECIAL)
    held = [rates_held(case) for case in where]
    return [
        replace(
            each,
            score=fmean(
                value(rates_begun(case, learned_text(each.weights, name)), best)
                for case, best in zip(where, held, strict=True)
            ),
        )
        for each in trained
    ]


def policy_of(trained: Sequence[Trained], options: Options) -> dict[str, Any]:
    """The policy file of a training: the best seed, and a card that tells of all."""
    best = max(trained, key=lambda each: each.score)
    return {
        "name": options.get("learner", "ppo"),
        "weights": best.weights,
        "card": {
            "trained_on": "recorded runs" if best.support else "random simulated machines",
            "data": best.support,
            "options": dict(options),
            "seed": best.seed,
            "seeds": [
                {
                    "seed": each.seed,
                    "validation": round(each.score, 4),
                    "curve": thinned(each.curve),
                    "weights": each.weights,
                }
                for each in trained
            ],
            "gate": None,
        },
    }


def thinned(curve: Curve, most: int = _POINTS) -> list[list[float]]:
    """Decisions and mean rewards of so many stretches of a curve at most."""
    size = max(1, -(-len(curve) // most))
    points = []
    for begin in range(0, len(curve), size):
        part = curve[begin : begin + size]
        rewards = [point["reward"] for point in part if "reward" in point]
        if rewards:
            points.append([part[-1]["decisions"], round(fmean(rewards), 4)])
    return points
