"""How many micro-batches make a step: more of them as the gradient's noise grows."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError
from drapps.train.noise import NoiseEstimate

_UP, _DOWN = 1.5, 0.4  # of what there is; between them nothing changes


class BatchSchedule:
    """Accumulates gradients over so many micro-batches that a step has about the noise scale.

    The loader's batch is the micro-batch. The number of them is a power of two times `least`,
    doubled where `share` of the noise scale is 1.5 times what a step has, or more, and halved where
    it is 0.4 of that, or less; at most once in `every` steps, and not before `warmup` ones. Only
    past steps are looked at: a step's own gradients never say how long it is, which would bias it.
    Every rank comes to the same.
    """

    def __init__(
        self,
        *,
        most: int,
        least: int = 1,
        share: float = 1.0,
        warmup: int = 200,
        every: int = 50,
        replay: Sequence[Sequence[int]] | str | os.PathLike[str] | None = None,
    ) -> None:
        """Begins with `least`.

        Args:
            most: micro-batches of a step.
            least: micro-batches of a step.
            share: of the noise scale that a step is to have, in samples over all ranks.
            warmup: measured steps before the first change.
            every: steps between two changes.
            replay: a history, or a file that `save` wrote: the same changes at the same steps,
                whatever the noise.

        Raises:
            PipelineError: numbers out of range, or a history that is none.
        """
        if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
            raise PipelineError(f"least={least!r}, most={most!r}: give whole numbers, rising")
        if not share > 0 or warmup < 0 or every < 1:
            raise PipelineError("share is above 0, warmup 0 or more, every 1 or more")
        self.most, self.least, self.share = most, least, share
        self.warmup, self.every = warmup, every
        self.accumulation = least
        self.steps = 0
        self.history: list[list[int]] = [[0, least]]
        self._replay = None if replay is None else _history(replay)
        if self._replay is not None:
            self._follow()

    def step(self, estimate: NoiseEstimate, samples: float) -> int:
        """A step has been made, of so many samples over all ranks; the number for the next one."""
        self.steps += 1
        if self._replay is not None:
            self._follow()
            return self.accumulation
        wanted = self.share * estimate.scale
        known = estimate.steps >= self.warmup and not math.isnan(wanted) and samples > 0
        if known and self.steps - self.history[-1][0] >= self.every:
            if wanted >= _UP * samples and 2 * self.accumulation <= self.most:
                self._change(2 * self.accumulation)
            elif wanted <= _DOWN * samples and self.accumulation // 2 >= self.least:
                self._change(self.accumulation // 2)
        return self.accumulation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes its history as JSON into a new file, for `replay`.

        Raises:
            FileExistsError: there is such a file.
        """
        with Path(path).open("x", encoding="utf-8") as file:
            json.dump({"batch_schedule": self.history}, file)

    def arguments(self) -> dict[str, Any]:
        """What makes another one like it, as JSON."""
        names = ("most", "least", "share", "warmup", "every")
        return {**{name: getattr(self, name) for name in names}, "replay": self._replay}

    def state_dict(self) -> dict[str, Any]:
        """Where it is, and how it came there."""
        return {"steps": self.steps, "history": [list(each) for each in self.history]}

    def load_state_dict(self, state: Mapping[str, Any], *, ranks: tuple[int, int] = (1, 1)) -> None:
        """Goes on from there.

        Args:
            state: of one like it.
            ranks: that there were, and that there are. All ranks together go on with as many
                micro-batches in a step; where `least` is `most`, each goes on with that many.

        Raises:
            PipelineError: so many cannot be shared by the ranks.
        """
        self.history = _history(state["history"])
        if ranks[0] != ranks[1]:
            self.history[-1][1] = self._shared_by(self.history[-1][1], *ranks)
        self.steps, self.accumulation = int(state["steps"]), self.history[-1][1]

    def _shared_by(self, accumulation: int, before: int, now: int) -> int:
        """What so many micro-batches of each rank are when there is another number of ranks."""
        if self.least == self.most:
            return self.least
        wanted = accumulation * before
        if wanted % now or not self.least <= wanted // now <= self.most:
            raise PipelineError(
                f"a step of the state has {wanted} micro-batches on {before} ranks, and {now} "
                f"ranks have {self.least} to {self.most} each: give least= and most= for these "
                "ranks, or smaller micro-batches"
            )
        return wanted // now

    def _change(self, accumulation: int) -> None:
        if accumulation != self.accumulation:
            self.accumulation = accumulation
            self.history.append([self.steps, accumulation])

    def _follow(self) -> None:
        """What the replayed history has for the next step."""
        assert self._replay is not None
        self._change([number for at, number in self._replay if at <= self.steps][-1])
        if self.steps == 0:
            self.history = [[0, self.accumulation]]


def _history(given: Sequence[Sequence[int]] | str | os.PathLike[str]) -> list[list[int]]:
    source = str(given)
    read: Any = given
    try:
        if isinstance(given, (str, os.PathLike)):
            read = json.loads(Path(given).read_text(encoding="utf-8"))["batch_schedule"]
        history = [[int(at), int(number)] for at, number in read]
    except (ValueError, TypeError, KeyError) as error:
        raise PipelineError(f"{source} is no history of a batch schedule: {error}") from None
    rising = all(a[0] < b[0] for a, b in itertools.pairwise(history))
    if not history or history[0][0] != 0 or not rising or any(n < 1 for _, n in history):
        raise PipelineError(
            f"{source} is no history of a batch schedule: give pairs of a step, rising from 0, and "
            "of the micro-batches from there on"
        )
    return history
