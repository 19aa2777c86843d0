"""Which pass a loader begins next, with which seed, and the states to go on from."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from drapps import state
from drapps.attributes import method_of
from drapps.bad_samples import BadSamplesFile
from drapps.epochs import Epochs
from drapps.report import BadSample
from drapps.torch import generators
from drapps.torch.native import Native, Pass
from drapps.torch.native_order import rank_of
from drapps.torch.progress import Progress
from drapps.torch.python_order import PythonOrder
from drapps.torch.seeding import base_seed_of

if TYPE_CHECKING:
    from drapps.torch.execution import Execution


class Passes:
    """The passes of one loader, given to each call. A copy goes on from the same epoch."""

    def __init__(self) -> None:
        """Begins with epoch 0."""
        self._epochs = Epochs()
        self._epoch_given = False
        self._resumed: Mapping[str, Any] | None = None
        self._latest: Pass | Progress | None = None

    def begin_python(self, loader: Any, base_seed: int, since: int) -> Progress:
        """A new pass over Python code, or the rest of the one whose state was loaded.

        Args:
            loader: whose order, seed and generators it has.
            base_seed: that was drawn.
            since: passes that had it before this one.
        """
        epoch, _ = self._epochs.take()
        resumed, begun = self._take_resumed(epoch)
        key_epoch = self._key_epoch(loader, epoch, since, begun)
        order = PythonOrder.of(loader, begun or None, key_epoch)
        rank = rank_of(order.sampler)
        if order.seed is not None and since == 0:
            base_seed = base_seed_of(order.seed, rank, key_epoch)
        seed, drawn = begun.get("seed", base_seed), _generators(loader, begun)
        progress = Progress(order, epoch, seed, key_epoch, rank, resumed, drawn)
        self._latest = progress
        return progress

    def begin_native(
        self,
        loader: Any,
        native: Native,
        base_seed: int,
        since: int,
        bad_samples_file: BadSamplesFile | None,
    ) -> Pass:
        """A new native pass, or the rest of the one whose state was loaded.

        The user's sampler is iterated when the pass begins.
        """
        epoch, start = self._epochs.take()
        _, begun = self._take_resumed(epoch)
        latest = Pass(
            native,
            epoch,
            start,
            begun.get("seed", base_seed if loader.seed is None else loader.seed),
            self._key_epoch(loader, epoch, since, begun),
            begun or None,
            _generators(loader, begun),
            bad_samples_file,
        )
        self._latest = latest
        return latest

    def _take_resumed(self, epoch: int) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
        """The state that was loaded, unless another epoch was set; again, if its pass had begun."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None and resumed["epoch"] != epoch:
            resumed = None
        return resumed, resumed if resumed is not None and "seed" in resumed else {}

    def _key_epoch(self, loader: Any, epoch: int, since: int, begun: Mapping[str, Any]) -> int:
        """What stands beside the seed in the key of a pass.

        A seed that was drawn for this pass alone needs nothing beside it, so that a script that
        seeds torch for each epoch gets the same pass wherever it was started. A seed that passes
        share takes the epoch's number: one that was given, or that persistent workers keep.
        """
        if begun:
            return int(begun.get("key_epoch", epoch))  # the epoch, in states of the first format
        return epoch if loader.seed is not None or self._epoch_given else since

    def set_epoch(self, loader: Any, epoch: int) -> None:
        """Sets the epoch of the next pass; the sampler is told."""
        self._epochs.pin(epoch)
        self._epoch_given = True
        _tell_sampler(loader, epoch)

    def state_dict(self, loader: Any) -> dict[str, Any]:
        """Where the latest pass is."""
        latest = self._latest
        if latest is not None and not latest.over:
            return latest.state_dict()
        if self._resumed is not None:
            return dict(self._resumed)
        epoch, _ = self._epochs.upcoming
        saved: dict[str, Any] = loader._execution().first_state(epoch)
        if latest is not None and loader.persistent_workers:
            saved |= latest.lasting()
        with latest.at_its_end() if isinstance(latest, Pass) else contextlib.nullcontext():
            return saved | generators.fields(generators.states_of(loader))

    def load_state_dict(
        self, loader: Any, execution: Execution, state_dict: Mapping[str, Any]
    ) -> None:
        """The next pass goes on by `state_dict`; StateError where it is none of such a loader."""
        epoch, position = execution.check(state_dict)
        if position > 0 or "seed" in state_dict:
            state.typed(state_dict, "seed", int)
        if "key_epoch" in state_dict:
            state.whole(state_dict, "key_epoch")
        if "sampler_epoch" in state_dict:
            state.whole(state_dict, "sampler_epoch")
        generators.check(state_dict)
        if "seed" not in state_dict:  # the pass, which will draw from the generators, has not begun
            generators.restore(loader, state_dict)
        self._epochs.resume(epoch, position)
        self._resumed = dict(state_dict)
        self._latest = None
        loader._iterator = None  # persistent workers belong to the pass that was left
        if "sampler_epoch" in state_dict:
            _tell_sampler(loader, state_dict["sampler_epoch"])

    def plan(self) -> Mapping[str, Any]:
        """How the latest pass over Python code runs; empty where there is none."""
        return self._latest.plan if isinstance(self._latest, Progress) else {}

    def bad_samples(self) -> list[BadSample]:
        """The bad samples of the latest native pass."""
        return self._latest.bad_samples() if isinstance(self._latest, Pass) else []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_latest": None, "_epochs": copy.copy(self._epochs)}


def _generators(loader: Any, begun: Mapping[str, Any]) -> generators.States:
    """The user's generators now that a pass has drawn its seed, or as they were when it had."""
    generators.restore(loader, begun)
    return generators.states_of(loader)


def _tell_sampler(loader: Any, epoch: int) -> None:
    tell = method_of(PythonOrder.of(loader).sampler, "set_epoch")
    if tell is not None:
        tell(epoch)
