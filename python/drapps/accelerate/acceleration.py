"""What a loader has of accelerated pictures, and what it gives to its workers."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from drapps.accelerate import indexes, patching, proof, tensors
from drapps.accelerate.here import Region, hooks
from drapps.accelerate.indexes import Indexes
from drapps.accelerate.proof import Proof
from drapps.accelerate.tally import Counts, Tally, described

SWITCH = "DRAPPS_ACCELERATE"


class Accelerated:
    """What the workers of a pool are given, or an iterator in its user's process.

    Attributes:
        tally: where they count.
        here: they work in the process of the loader.
    """

    def __init__(
        self, tally: Tally, known: Proof | None, here: bool, indexes: Indexes | None
    ) -> None:
        self.tally = tally
        self.here = here
        self._known = known
        self._indexes = indexes

    def begin(self, number: int) -> None:
        """In the worker process of this number: from now on its pictures are made natively."""
        hooks.forget()
        proof.adopt(self._known)
        patching.begin(self._counts(number))

    def sample(self, number: int) -> Region:
        """In the process of the loader: what is made within it is made by the worker `number`."""
        return Region(self._counts(number))

    def _counts(self, number: int) -> Counts:
        table = None if self._indexes is None else self._indexes.table
        return self.tally.of_process(number, table)

    def look(self) -> None:
        """In the process of the loader: what the workers have in memory by now is counted there."""
        if self._indexes is not None:
            self._indexes.table.book()


class Acceleration:
    """What one loader's workers count in this process, from its first pass on."""

    def __init__(self) -> None:
        self._maker = os.getpid()
        self._ended: Counter[str] = Counter()
        self._left_alone = 0
        self._running: list[Tally] = []
        self._samples: int | None = None  # of what is kept
        self._indexes: Indexes | None = None

    def keep(self, dataset: Any) -> None:
        """Keeps what decoding learns of a dataset's files, from the next pass on; None: nothing."""
        self._samples = None if dataset is None else indexes.samples_in(dataset)

    def for_workers(self, numbers: int, here: bool = False) -> Accelerated | None:
        """What workers of up to so many numbers are given; None where it is switched off.

        Processes, or threads of this process (`here`), for which `ended` is to be called. Where the
        system gives no memory to count in, pictures stay Pillow's, too.
        """
        self._forget_the_parents()
        if os.environ.get(SWITCH) == "0":
            return None
        try:
            tally = Tally(numbers)
        except OSError:
            return None
        self._running.append(tally)
        if here:
            hooks.join()
        else:
            tensors.look_for_users()
        if self._indexes is None and self._samples is not None:
            self._indexes = Indexes.for_samples(self._samples)
        kept = None if self._samples is None else self._indexes
        return Accelerated(tally, None if here else _proof_here(), here, kept)

    def ended(self, accelerated: Accelerated) -> None:
        """The workers are gone; what they have counted and learnt stays."""
        accelerated.look()
        if accelerated.tally in self._running:
            self._running.remove(accelerated.tally)
            self._take(self._ended, accelerated.tally)
            if accelerated.here:
                hooks.leave()

    def _take(self, into: Counter[str], tally: Tally) -> None:
        sums = tally.sums()
        self._left_alone = sums.pop("left_alone") or self._left_alone
        into.update(sums)

    def counts(self) -> dict[str, int]:
        """The counts of all processes together; empty before a picture was opened."""
        self._forget_the_parents()
        sums = Counter(self._ended)
        for tally in tuple(self._running):
            self._take(sums, tally)
        totals = {name: number for name, number in sums.items() if number}
        return {**totals, "left_alone": self._left_alone} if self._left_alone else totals

    def forms(self) -> dict[str, dict[str, Any]]:
        """What is kept of files for later epochs, by kind; empty where nothing is."""
        self._forget_the_parents()
        stats = {} if self._indexes is None else self._indexes.table.stats()
        return {"jpeg_index": stats} if stats.get("samples") else {}

    def described(self) -> str:
        """What became of pictures, as a sentence; empty where there were none."""
        sentence, forms = described(self.counts()), self.forms()
        index = indexes.described(forms["jpeg_index"]) if forms else ""
        return "; ".join(filter(None, (sentence, index)))

    def _forget_the_parents(self) -> None:
        """In a child of a fork the pools are the parent's."""
        if self._maker != os.getpid():
            Acceleration.__init__(self)


def _proof_here() -> Proof | None:
    """What is known of the Pillow of this process, which forked processes then know, too."""
    image: Any = sys.modules.get("PIL.Image")
    plugin: Any = sys.modules.get("PIL.JpegImagePlugin")
    if image is None or plugin is None:
        return None
    return proof.proof_of(image, plugin.JpegImageFile)
