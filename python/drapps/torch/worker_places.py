"""Where the virtual workers of a pass are, as a state of it holds them."""

from __future__ import annotations

import base64
import copy
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from drapps.errors import StateError
from drapps.torch.drawn import packed_states
from drapps.torch.told_state import NoStateError, ToldState

_Random = dict[str, bytes]  # packed states that are others than at the start of the process
_log = logging.getLogger("drapps")


class WorkerPlaces:
    """Places of workers of a map-style dataset: the random states that they go on with.

    Attributes:
        field: under which name a state holds them.
        turn: the worker that yields next.
    """

    field: ClassVar[str] = "workers"

    def __init__(self, workers: int) -> None:
        self.turn = 0
        self._workers = [self._begun() for _ in range(workers)]
        self._random: list[_Random] = [{} for _ in range(workers)]
        self._random_before: list[_Random] = [{} for _ in range(workers)]  # before the pass

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
            began = [_unpacked(worker.pop("began", {})) for worker in self._workers]
            if random:
                self._random = drawn
                self._random_before = began if saved["batches"] else copy.deepcopy(drawn)

    def follow(self, before: WorkerPlaces) -> None:
        """The same workers go on after the pass of `before`."""
        self._random = before._random
        self._random_before = copy.deepcopy(self._random)

    def starts(self) -> dict[int, dict[str, Any]]:
        """What workers that have drawn begin a pass with."""
        return {i: {"began": began} for i, began in enumerate(self._random_before) if began}

    def starts_within(self) -> dict[int, dict[str, Any]]:
        """What workers that have drawn go on with, within a pass."""
        return {i: {"drawn": dict(drawn)} for i, drawn in enumerate(self._random) if drawn}

    def drew(self, worker: int, drawn: Mapping[str, bytes]) -> None:
        """The random states `drawn` were others behind what the serial `worker` made last."""
        self._random[worker].update(drawn)

    def yielded(self, worker: int) -> None:
        """The user was given a batch that `worker` has made."""
        self.turn = (worker + 1) % len(self._workers)

    def state(self, within: bool) -> dict[str, Any]:
        """What a state holds of the workers; `within` a pass, or at its beginning."""
        random = self._random if within else self._random_before
        places = [
            self._place(worker, within) | _packed("drawn", random[worker])
            for worker in range(len(self._workers))
        ]
        return {self.field: places, "turn": self.turn}

    def _place(self, worker: int, within: bool) -> dict[str, Any]:  # noqa: ARG002
        return dict(self._workers[worker])

    def state_of_next(self) -> dict[str, Any]:
        """What a state holds of the workers at the beginning of the pass that follows."""
        after = type(self)(len(self._workers))
        after.follow(self)
        return after.state(within=False)


class StreamPlaces(WorkerPlaces):
    """Places of workers of an iterable-style dataset: also where the stream of each is.

    A stream without a state of its own is run again from its beginning, with the numbers that it
    drew there.
    """

    field = "streams"

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._stream_states: dict[int, ToldState] = {}
        self._warnings: set[str] = set()

    @staticmethod
    def _begun() -> dict[str, Any]:
        return {"batches": 0}

    def starts_within(self) -> dict[int, dict[str, Any]]:
        """Where all streams go on."""
        return {i: self._start(i) for i in range(len(self._workers))}

    def _start(self, worker: int) -> dict[str, Any]:
        began, drawn = self._random_before[worker], self._random[worker]
        start = {**copy.deepcopy(self._workers[worker]), "began": began}
        # A worker whose states are as before the pass has not begun it, or has drawn nothing in it.
        return start if drawn == began else {**start, "drawn": dict(drawn)}

    def ended(self, worker: int) -> None:
        """The stream of `worker` has no more batches."""
        self._workers[worker]["ended"] = True

    def advanced(self, worker: int, state: ToldState | None, ended: bool) -> None:
        """A batch of `worker` was yielded, and its stream told `state`; None: it has none."""
        self.failed(worker)
        self._workers[worker].pop("state", None)
        self._stream_states.pop(worker, None)
        if state is not None:
            self._stream_states[worker] = state
        if ended:
            self.ended(worker)

    def failed(self, worker: int) -> None:
        """A batch of `worker` was raised, and of its stream nothing is known."""
        self._workers[worker]["batches"] += 1

    def _place(self, worker: int, within: bool) -> dict[str, Any]:
        place = super()._place(worker, within)
        if within and worker in self._stream_states:
            try:
                place["state"] = self._stream_states[worker].value()
            except NoStateError as none:
                self._say(str(none))
        if place.get("state") is None:
            place.pop("state", None)
            if within and self._random_before[worker]:
                place |= _packed("began", self._random_before[worker])
        return place

    def _say(self, why: str) -> None:
        if why not in self._warnings:
            self._warnings.add(why)
            _log.warning("%s. Its stream will be run again up to the place instead.", why)


def _packed(name: str, random: _Random) -> dict[str, Any]:
    """What is saved of random states."""
    texts = {library: base64.b64encode(state).decode() for library, state in random.items()}
    return {name: texts} if texts else {}


def _unpacked(texts: Mapping[str, str]) -> dict[str, bytes]:
    """The random states of a saved worker.

    Raises:
        StateError: they are no random states.
    """
    known = packed_states()
    try:
        drawn = {name: base64.b64decode(text, validate=True) for name, text in texts.items()}
    except (TypeError, ValueError):
        drawn = {"": b""}
    if any(len(state) != len(known.get(name, b"")) for name, state in drawn.items()):
        raise StateError("the state's workers have damaged random states: it was cut or edited")
    return drawn
