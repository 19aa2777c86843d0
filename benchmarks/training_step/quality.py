"""Time to the baseline's final quality: a grid for both sides, then paired trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.training_step import curves
from benchmarks.training_step.arms import ALL, ARMS, BASELINE, PIECES, STOCK, without
from benchmarks.training_step.bench import CORES, Bench, Key

GRID_SEED = 1_000  # no seed that is measured
GPU_TIME, GPU_THROUGHPUT = 0.77, 1.27
_HIGHER = {"image": True, "text": False}
_PROBE_SHARE = 0.1  # of a run's samples

Cell = tuple[int, float]  # batch, rate


class Quality:
    """Of one stand-in."""

    def __init__(self, bench: Bench, task: str) -> None:
        self._bench, self._task = bench, task
        self._settings = bench.settings.tasks[task]
        self.higher = _HIGHER[task]

    @cached_property
    def precision(self) -> Answer:
        """The fastest that comes to what fp32 does, once for all trainings of the stand-in."""
        batch = self._settings.batches[0]
        return self._bench.ask(
            "precision", self._task, what="precision", task=self._task, batch=batch
        )

    @cached_property
    def workers(self) -> int:
        """The stock loader's best number of workers, which both loaders get."""
        batch, rate = self._settings.batches[0], self._settings.rates[0]
        numbers = sorted({0, 1, CORES, CORES + (CORES + 1) // 2})
        jobs = {
            ("workers", self._task, number): self._job(
                STOCK, GRID_SEED, (batch, rate), workers=number, share=_PROBE_SHARE
            )
            for number in numbers
        }
        answers = self._bench.ask_all(jobs)
        seconds = {number: answers["workers", self._task, number]["seconds"] for number in numbers}
        return min(seconds, key=seconds.__getitem__)

    @cached_property
    def grid(self) -> dict[str, dict[Cell, Answer]]:
        """A training of baseline and everything in each cell."""
        cells = [(batch, rate) for batch in self._settings.batches for rate in self._settings.rates]
        keys = {
            arm: {cell: ("grid", self._task, arm, *cell) for cell in cells}
            for arm in (BASELINE, ALL)
        }
        jobs: dict[Key, Mapping[str, Any]] = {
            key: self._job(arm, GRID_SEED, cell)
            for arm, mine in keys.items()
            for cell, key in mine.items()
        }
        answers = self._bench.ask_all(jobs)
        return {
            arm: {cell: answers[key] for cell, key in mine.items()} for arm, mine in keys.items()
        }

    @cached_property
    def tuned(self) -> dict[str, Cell]:
        """The cell of each side that is first at what the baseline's best cell ends with."""
        baseline = list(self.grid[BASELINE].values())
        most = curves.best_final(baseline, self.higher)
        wanted = most * (1 - curves.NEAR if self.higher else 1 + curves.NEAR)
        return {arm: curves.best(cells, wanted, self.higher) for arm, cells in self.grid.items()}

    @cached_property
    def arms(self) -> list[str]:
        """Those that differ here: in fp32 there is no precision to switch off."""
        same = without("precision").name if self.precision["kind"] == "fp32" else None
        return [name for name in ARMS if name != same]

    @cached_property
    def runs(self) -> dict[str, list[Answer]]:
        """Each arm's trainings, a seed at a time, each seed beginning with another arm."""
        by_arm: dict[str, list[Answer]] = {arm: [] for arm in self.arms}
        for seed in range(self._bench.seeds):
            first = seed % len(self.arms)
            jobs = {
                ("run", self._task, seed, arm): self._job(arm, seed, self._cell(arm))
                for arm in [*self.arms[first:], *self.arms[:first]]
            }
            answers = self._bench.ask_all(jobs)
            for arm in self.arms:
                by_arm[arm].append(answers["run", self._task, seed, arm])
        return by_arm

    def scale(self) -> float | None:
        """The noise scale at the end of the grid's training with everything, in samples."""
        noise: float | None = self.grid[ALL][self.tuned[ALL]].get("scale")
        return noise

    def report(self) -> None:
        """Figures and ratios."""
        bench, task = self._bench, self._task
        wanted = curves.target(self.runs[BASELINE], self.higher)
        times = {
            arm: [curves.reached(run, wanted, self.higher) for run in runs]
            for arm, runs in self.runs.items()
        }
        case = bench.name(task)
        bench.result.figures[case] = {
            arm: self._figure(arm, runs, times[arm]) | {"target": wanted}
            for arm, runs in self.runs.items()
        }
        bench.result.rounds[case] = {arm: list(runs) for arm, runs in self.runs.items()}
        bench.result.rounds[f"{case}_grid"] = {
            arm: [
                {
                    "batch": batch,
                    "rate": rate,
                    "quality": curves.final(run),
                    "seconds": run["seconds"],
                }
                for (batch, rate), run in cells.items()
            ]
            for arm, cells in self.grid.items()
        }
        self._add(
            "time", ALL, BASELINE, {a: [t.seconds for t in each] for a, each in times.items()}
        )
        self._add("samples", ALL, BASELINE, {a: [t.samples for t in e] for a, e in times.items()})
        rates = {arm: list(map(_rate, runs)) for arm, runs in self.runs.items()}
        self._add("throughput", ALL, BASELINE, rates)
        self._add("loader_throughput", BASELINE, STOCK, rates)
        self._add(
            "time_with_loader", ALL, STOCK, {a: [t.seconds for t in e] for a, e in times.items()}
        )
        for piece in PIECES:
            if (name := without(piece).name) in times:
                seconds = {arm: [each.seconds for each in times[arm]] for arm in (ALL, name)}
                self._add(f"time_without_{piece}", name, ALL, seconds)
        if bench.device != "cpu":
            bench.result.limits[f"time_{case}"] = GPU_TIME
            bench.result.wanted[f"throughput_{case}"] = GPU_THROUGHPUT

    def _add(self, what: str, over: str, under: str, values: Mapping[str, Sequence[float]]) -> None:
        pairs = zip(values[over], values[under], strict=True)
        self._bench.result.add_ratio(
            self._bench.name(f"{what}_{self._task}"), [a / b for a, b in pairs]
        )

    def _figure(
        self, arm: str, runs: Sequence[Answer], times: Sequence[curves.Reached]
    ) -> dict[str, Any]:
        batch, rate = self._cell(arm)
        shares = {
            name: fmean(run["shares"][name] / run["seconds"] for run in runs)
            for name in runs[0]["shares"]
        }
        return {
            "batch": batch,
            "rate": rate,
            "samples_per_s": fmean(map(_rate, runs)),
            "seconds_to_target": fmean(each.seconds for each in times),
            "samples_to_target": fmean(each.samples for each in times),
            "reached": sum(each.there for each in times),
            "seeds": len(runs),
            "final_quality": fmean(map(curves.final, runs)),
            "steps": fmean(run["steps"] for run in runs),
            "shares": shares,
            "batches": [run["batches"] for run in runs if "batches" in run],
            "scale": [run["scale"] for run in runs if "scale" in run],
        }

    def _cell(self, arm: str) -> Cell:
        return self.tuned[BASELINE if ARMS[arm].plain else ALL]

    def _job(
        self, arm: str, seed: int, cell: Cell, workers: int | None = None, share: float = 1.0
    ) -> dict[str, Any]:
        settings = self._settings
        return {
            "what": "train",
            "task": self._task,
            "arm": arm,
            "seed": seed,
            "batch": cell[0],
            "rate": cell[1],
            "samples": int(share * settings.samples),
            "evaluations": settings.evaluations if share == 1.0 else 1,
            "held_out": settings.held_out,
            "workers": self.workers if workers is None else workers,
            "precision": self.precision["kind"],
        }


def _rate(run: Answer) -> float:
    return float(run["samples"] / run["seconds"])
