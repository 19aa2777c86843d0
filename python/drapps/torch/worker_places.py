"""Where the virtual workers of a pass are, as a state of it holds them."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from drapps.errors import StateError
from drapps.torch.drawn import packed_states


class WorkerPlaces:
    """Of workers of a map-style dataset: the random states that they go on with.

    Attributes:
        field: under which name a state holds them.
        turn: the worker that yields next.
    """

    field: ClassVar[str] = "workers"

    def __init__(self, workers: int) -> None:
        self.turn = 0
        self._workers = [self._begun() for _ in range(workers)]
        self._random: list[dict[str, bytes]] = [{} for _ in range(workers)]

    @staticmethod
    def _begun() -> dict[str, Any]:
        return {}

    def load(self, saved: Mapping[str, Any], random: bool) -> None:
        """Goes on where a state says, if it is one of as many workers.

        Args:
            saved: the state.
            random: with its random states.

        Raises:
            StateError: the random states are damaged.
        """
        workers = saved.get(self.field, ())
        if len(workers) == len(self._workers):
            self.turn = saved["turn"]
            self._workers = [copy.deepcopy(dict(worker)) for worker in workers]
            drawn = [_unpacked(worker.pop("drawn", {})) for worker in self._workers]
            self._random = drawn if random else self._random

    def follow(self, before: WorkerPlaces) -> None:
        """The same workers go on after the pass of `before`."""
        self._random = before._random

    def starts(self) -> dict[int, dict[str, Any]]:
        """What workers that have drawn go on with, at the beginning of a pass."""
        return {i: {"drawn": dict(drawn)} for i, drawn in enumerate(self._random) if drawn}

    def starts_within(self) -> dict[int, dict[str, Any]]:
        """The same within a pass."""
        return self.starts()

    def drew(self, worker: int, drawn: Mapping[str, bytes]) -> None:
        """These random states were others behind what the serial `worker` made last."""
        self._random[worker].update(drawn)

    def yielded(self, worker: int) -> None:
        """The user was given a batch that `worker` has made."""
        self.turn = (worker + 1) % len(self._workers)

    def state(self) -> dict[str, Any]:
        """What a state holds of them."""
        workers = zip(self._workers, self._random, strict=True)
        return {self.field: [_packed(*worker) for worker in workers], "turn": self.turn}

    def state_of_next(self) -> dict[str, Any]:
        """The same at the beginning of the pass that follows."""
        after = type(self)(len(self._workers))
        after.follow(self)
        return after.state()


class StreamPlaces(WorkerPlaces):
    """Of workers of an iterable-style dataset: also where the stream of each is."""

    field = "streams"

    @staticmethod
    def _begun() -> dict[str, Any]:
        return {"batches": 0}

    def starts_within(self) -> dict[int, dict[str, Any]]:
        """Where all streams go on."""
        places = copy.deepcopy(self._workers)
        return {i: {**place, "drawn": dict(self._random[i])} for i, place in enumerate(places)}

    def ended(self, worker: int) -> None:
        """The stream of `worker` has no more batches."""
        self._workers[worker]["ended"] = True

    def advanced(self, worker: int, stream_state: Any, ended: bool) -> None:
        """A batch of `worker` was yielded, after which its stream had this state (or has none)."""
        stream = self._workers[worker]
        stream["batches"] += 1
        if stream_state is not None:
            stream["state"] = stream_state
        if ended:
            self.ended(worker)


def _packed(place: Mapping[str, Any], drawn: Mapping[str, bytes]) -> dict[str, Any]:
    """What is saved of a worker: its place, and the random states it goes on with."""
    texts = {name: base64.b64encode(state).decode() for name, state in drawn.items()}
    return {**place, **({"drawn": texts} if texts else {})}


def _unpacked(texts: Mapping[str, str]) -> dict[str, bytes]:
    """The random states of a saved worker.

    Raises:
        StateError: they are none.
    """
    known = packed_states()
    try:
        drawn = {name: base64.b64decode(text, validate=True) for name, text in texts.items()}
    except (TypeError, ValueError):
        drawn = {"": b""}
    if any(len(state) != len(known.get(name, b"")) for name, state in drawn.items()):
        raise StateError("the state's workers have damaged random states: it was cut or edited")
    return drawn
