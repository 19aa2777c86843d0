"""Starts contestants, asks them, and keeps what they answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contestant import Answer, Contestant, ContestantError
from benchmarks.image_peers import environment
from benchmarks.image_peers.case import refusing
from benchmarks.journal import Journal
from benchmarks.report import Result
from benchmarks.tokenizers import texts
from benchmarks.tokenizers.contestants import ENTRIES, OURS, PINS, REFERENCE, Entry, spec
from benchmarks.tokenizers.corpora import PLACE
from benchmarks.tokenizers.settings import Settings

CORES = sorted(os.sched_getaffinity(0))
_ONE = CORES[-1:]  # the others' interrupts are mostly on the first


class Bench:
    """A run: what it measures with, and what it has found.

    Attributes:
        versions: of each contestant, which is measured and which is the newest.
        refused: contestants that cannot run → why.
    """

    def __init__(
        self,
        settings: Settings,
        count: int,
        journal: Journal,
        result: Result,
        versions: dict[str, dict[str, str]],
    ) -> None:
        self.settings, self.count, self.versions = settings, count, versions
        self.result = result
        self._journal = journal
        self._interpreters: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        for entry in ENTRIES:
            with refusing(entry.name, self.refused):
                self._interpreters[entry.name] = environment.ensure(entry.environment, PINS)

    def kept(self, key: Sequence[Any], measure: Callable[[], Any]) -> Any:
        """What the journal has under the key; else what `measure` gives, which is kept there."""
        value = self._journal.get(*key)
        if value is None:
            value = measure()
            self._journal.keep(*key, result=value)
        return value

    @contextmanager
    def started(
        self, entry: Entry, vocabulary: str, cores: Sequence[int] = (), limit_s: float = 1800
    ) -> Iterator[Contestant]:
        """A process of a contestant that has loaded a vocabulary."""
        file = texts.vocabulary(self.settings, vocabulary)
        command = [self._interpreters[entry.name], "-m", "benchmarks.tokenizers.child"]
        log = PLACE / "logs" / f"{entry.name}-{len(cores)}-{(cores or _ONE)[0]}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        about = spec(entry, vocabulary, file, cores or _ONE)
        with Contestant(entry.name, command, about, log, limit_s) as contestant:
            yield contestant

    def encode(self, entry: Entry, vocabulary: str, text: Path, warm: Path | None) -> Answer:
        """Times a text in a fresh process."""
        with self.started(entry, vocabulary) as contestant:
            warmed = contestant.ask(do="warm", text=str(warm))["bytes"] if warm else 0
            answer = contestant.ask(do="encode", text=str(text))
            return {**answer, "warmed": warmed, **contestant.started}

    def equal(self, vocabulary: str, name: str, text: Path) -> dict[str, str | int]:
        """Contestants → in how many documents their ids are not the reference's, or why not."""
        digests: dict[str, list[str]] = {}
        refused = dict(self.refused)
        for entry in ENTRIES:
            if entry.name not in refused and entry.can(vocabulary):
                key = ("ids", vocabulary, name, entry.name)
                with refusing(entry.name, refused):
                    digests[entry.name] = self.kept(
                        key, partial(self._digests, entry, vocabulary, text)
                    )
        if REFERENCE not in digests:
            raise ContestantError(f"nothing to compare with: {refused[REFERENCE]}")
        wanted = digests[REFERENCE]
        verdicts: dict[str, str | int] = {**refused}
        for contestant, ids in digests.items():
            pairs = zip(ids, wanted, strict=True)
            verdicts[contestant] = sum(mine != theirs for mine, theirs in pairs)
        if isinstance(verdicts.get(OURS), int) and verdicts[OURS]:
            many = f"{verdicts[OURS]} of {len(wanted)} documents"
            verdicts[OURS] = f"its ids are not those of {REFERENCE} in {many}"
        return verdicts

    def _digests(self, entry: Entry, vocabulary: str, text: Path) -> list[str]:
        with self.started(entry, vocabulary) as contestant:
            digests: list[str] = contestant.ask(do="ids", text=str(text))["digests"]
            return digests

    def together(self, entry: Entry, vocabulary: str, text: Path) -> tuple[float, float]:
        """MB/s of two processes at the same time, and of one process with two threads."""
        with (
            self.started(entry, vocabulary, CORES[:1]) as one,
            self.started(entry, vocabulary, CORES[1:2]) as other,
            ThreadPoolExecutor(2) as pool,
        ):
            ask = _asking(text)
            list(pool.map(ask("warm"), (one, other)))
            apart = sum(map(mb_per_s, pool.map(ask("encode"), (one, other))))
        with self.started(entry, vocabulary, CORES[:2]) as both:
            ask("warm")(both)
            return apart, mb_per_s(ask("encode")(both))

    def in_turn(self, names: Collection[str], number: int) -> list[Entry]:
        """The contestants of a round, each round beginning with another one."""
        entries = [entry for entry in ENTRIES if entry.name in names]
        first = number % len(entries) if entries else 0
        return [*entries[first:], *entries[:first]]


def _asking(text: Path) -> Callable[[str], Callable[[Contestant], Answer]]:
    return lambda do: lambda contestant: contestant.ask(do=do, text=str(text))


def mb_per_s(answer: Answer) -> float:
    """Of text, of one measurement."""
    return float(answer["bytes"] / answer["seconds"] / 1e6)
