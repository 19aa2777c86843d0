"""What a loader has of accelerated pictures, and what it gives to its worker processes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from drapps.accelerate import patching, proof
from drapps.accelerate.proof import Proof
from drapps.accelerate.tally import Tally

SWITCH = "DRAPPS_ACCELERATE"


class Accelerated:
    """What the worker processes of a pool are given.

    Attributes:
        tally: where they count.
    """

    def __init__(self, tally: Tally, known: Proof | None) -> None:
        self.tally = tally
        self._known = known

    def begin(self, number: int) -> None:
        """In the worker process of this number: from now on its pictures are made natively."""
        proof.adopt(self._known)
        patching.begin(self.tally.of_process(number))


class Acceleration:
    """Of one loader: what its pools count in this process, from its first pass on."""

    def __init__(self) -> None:
        self._maker = os.getpid()
        self._ended: Counter[str] = Counter()
        self._left_alone = 0
        self._running: list[Tally] = []

    def for_pool(self, numbers: int) -> Accelerated | None:
        """What processes of up to so many numbers are given; None where it is switched off.

        Where the system gives no memory to count in, pictures stay Pillow's, too.
        """
        self._forget_the_parents()
        if os.environ.get(SWITCH) == "0":
            return None
        try:
            tally = Tally(numbers)
        except OSError:
            return None
        self._running.append(tally)
        return Accelerated(tally, _proof_here())

    def ended(self, accelerated: Accelerated) -> None:
        """The processes of a pool are gone; what they have counted stays."""
        if accelerated.tally in self._running:
            self._running.remove(accelerated.tally)
            self._take(self._ended, accelerated.tally)

    def _take(self, into: Counter[str], tally: Tally) -> None:
        sums = tally.sums()
        self._left_alone = sums.pop("left_alone") or self._left_alone
        into.update(sums)

    def counts(self) -> dict[str, int]:
        """Of all processes together; empty before a picture was opened."""
        self._forget_the_parents()
        sums = Counter(self._ended)
        for tally in self._running:
            self._take(sums, tally)
        found = {name: number for name, number in sums.items() if number}
        return {**found, "left_alone": self._left_alone} if self._left_alone else found

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
