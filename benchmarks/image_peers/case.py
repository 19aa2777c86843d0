"""One chroma sampling of the scenario: each contestant is checked, probed and timed in rounds."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, last_error, rate
from benchmarks.image_peers import data, pictures
from benchmarks.image_peers.contestants import Entry
from benchmarks.image_peers.environment import CannotRunError
from benchmarks.journal import Journal

WARM_S = 1.0
PROBE_S = 2.0
_LIMIT_S = 300.0  # for a start, a measurement, or a check
_STORE_LIMIT_S = 3600.0
_SIDE = 224


@contextmanager
def refusing(name: str, refused: dict[str, str]) -> Iterator[None]:
    """What goes wrong with a contestant becomes the reason why it is missing."""
    try:
        yield
    except (CannotRunError, ContestantError) as error:
        refused[name] = str(error).removeprefix(f"{name}: ")
        print(f"  {name} cannot run: {refused[name]}", flush=True)


class Case:
    """One chroma sampling.

    Attributes:
        sampling: "444" or "420".
        outputs: what the pictures of each contestant are.
        probes: contestant → number of workers → samples/s.
        workers: the best number of workers.
        refused: of each contestant that does not run, why not.
    """

    def __init__(
        self, sampling: str, files: data.Data, interpreters: dict[str, str], journal: Journal
    ) -> None:
        self.sampling, self._files = sampling, files
        self._interpreters, self._journal = interpreters, journal
        self.outputs: dict[str, pictures.Found] = {}
        self.probes: dict[str, dict[int, float]] = {}
        self.workers: dict[str, int] = {}
        self.refused: dict[str, str] = {}

    def measure(self, entries: Sequence[Entry], count: int, seconds: float) -> None:
        """Checks, prepares and probes each contestant, then times all in turn."""
        running = [entry for entry in entries if entry.name not in self.refused]
        expected = pictures.reference(self._files.check.listing, _SIDE)
        for entry in running:
            with refusing(entry.name, self.refused):
                self._check(entry, expected)
                self._prepare(entry)
                self._probe(entry)
        for number in range(count):
            turn = number % len(running) if running else 0
            for entry in [*running[turn:], *running[:turn]]:
                if entry.name not in self.refused:
                    with refusing(entry.name, self.refused):
                        self._round(entry, number, seconds)
            rates = {
                entry.name: rate(self.answers(entry.name, number + 1)[-1])
                for entry in running
                if entry.name not in self.refused
            }
            speeds = ", ".join(f"{name} {each:,.0f}" for name, each in rates.items())
            print(f"  round {number + 1} of {count}: {speeds} samples/s", flush=True)

    def answers(self, name: str, count: int) -> list[Answer]:
        """The first rounds of a contestant, which have been measured."""
        return [self._journal.get("round", self.sampling, name, each) for each in range(count)]

    def _spec(self, entry: Entry, folder: data.Folder, **more: Any) -> dict[str, Any]:
        """What a contestant is told."""
        pillow = int(metadata.version("pillow").split(".")[0])
        store = data.PLACE / "stores" / f"{folder.root.name}-{entry.name}-{folder.digest[:12]}"
        store.parent.mkdir(parents=True, exist_ok=True)
        cores = len(os.sched_getaffinity(0))
        return {
            "root": str(folder.root),
            "listing": str(folder.listing),
            "classes": folder.classes,
            "copies": folder.copies,
            "store": str(store),
            "batch": 64,
            "crop": _SIDE,
            "scale": [0.08, 1.0],
            "ratio": [3 / 4, 4 / 3],
            "flip": 0.5,
            "mean": [0.485, 0.456, 0.406],
            "std": [0.229, 0.224, 0.225],
            "seed": 4,
            "starts": 1,
            "workers": self.workers.get(entry.name, cores),
            "pass_order": "pillow13" if pillow >= 13 else "horizontal_first",
            **entry.settings,
            **more,
        }

    def _command(self, entry: Entry) -> list[str]:
        return [self._interpreters[entry.name], "-m", f"benchmarks.image_peers.{entry.module}"]

    def _log(self, entry: Entry, what: str) -> Path:
        file = data.PLACE / "logs" / f"{self.sampling}-{entry.name}-{what}.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _once(self, entry: Entry, spec: dict[str, Any], limit_s: float) -> None:
        """Runs a contestant's module for what `spec["do"]` says."""
        log = self._log(entry, spec["do"])
        command = [*self._command(entry), json.dumps(spec)]
        with log.open("w") as messages:
            try:
                done = subprocess.run(
                    command,
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=messages,
                    stderr=messages,
                    timeout=limit_s,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise CannotRunError(f"{spec['do']} did not end within {limit_s:.0f} s") from error
        if done.returncode:
            raise CannotRunError(last_error(log) or f"{spec['do']} ended with {done.returncode}")

    def _check(self, entry: Entry, expected: np.ndarray) -> None:
        """Raises CannotRunError where the pictures are others."""
        key = ("pictures", self.sampling, entry.name)
        kept = self._journal.get(*key)
        if kept is None:
            with tempfile.TemporaryDirectory() as folder:
                saved = Path(folder) / "pictures.npz"
                # No picture is larger than the whole; rounding makes these bounds 500 x 375.
                whole = {"scale": [0.9999, 1.0], "ratio": [1.3332, 1.3335], "flip": 0.0}
                more = {"do": "pictures", "whole": True, "batch": 16, "out": str(saved), **whole}
                self._once(entry, self._spec(entry, self._files.check, **more), _LIMIT_S)
                kept = asdict(pictures.compare(saved, expected))
            self._journal.keep(*key, result=kept)
        verdict = self.outputs[entry.name] = pictures.Found(**kept)
        print(
            f"  {entry.name}: {verdict.output}, mean error {verdict.mean_error:.3f} of 255, "
            f"at most {verdict.max_error:.0f}",
            flush=True,
        )
        if not verdict.same:
            raise CannotRunError(f"its pictures are others: mean error {verdict.mean_error:.1f}")

    def _prepare(self, entry: Entry) -> None:
        if entry.prepares:
            spec = self._spec(entry, self._files.timed, do="prepare")
            self._once(entry, spec, _STORE_LIMIT_S)
            data.warm(Path(spec["store"]))

    def _probe(self, entry: Entry) -> None:
        """Finds the number of workers that is best here."""
        rates: dict[int, float] = {}
        for workers in entry.workers():
            key = ("probe", self.sampling, entry.name, workers)
            answer = self._journal.get(*key)
            if answer is None:
                spec = self._spec(entry, self._files.timed, workers=workers)
                answer = self._timed(entry, spec, PROBE_S)
                self._journal.keep(*key, result=answer)
            rates[workers] = rate(answer)
        if rates:
            self.probes[entry.name] = rates
            self.workers[entry.name] = max(rates, key=lambda each: rates[each])
            speeds = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
            print(f"  {entry.name}: samples/s by workers {speeds}", flush=True)

    def _round(self, entry: Entry, number: int, seconds: float) -> None:
        key = ("round", self.sampling, entry.name, number)
        if self._journal.get(*key) is None:
            answer = self._timed(entry, self._spec(entry, self._files.timed), seconds)
            self._journal.keep(*key, result=answer)

    def _timed(self, entry: Entry, spec: dict[str, Any], seconds: float) -> Answer:
        """One measurement in a process of its own: nothing else that loads is alive."""
        log = self._log(entry, "timed")
        with Contestant(entry.name, self._command(entry), spec, log, _LIMIT_S) as contestant:
            answer = contestant.ask(warm_s=WARM_S, measure_s=seconds)
            return {
                **answer,
                "first_batch_s": contestant.started["first_batch_s"],
                "peak_bytes": contestant.peak_bytes(),
                "workers": spec["workers"],
            }
