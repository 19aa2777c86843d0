"""Where a pass over Python code stands: what was yielded, and what a state of it holds."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from drapps import state
from drapps.attributes import attribute_of
from drapps.errors import StateError
from drapps.torch.generators import LOADERS, SAMPLERS, States, fields
from drapps.torch.orders.order import OTHER_ORDER, PassOrder
from drapps.torch.python_order import PythonOrder
from drapps.torch.python_state import KIND, own_state
from drapps.torch.seeding import base_seed_of, key_of
from drapps.torch.told_state import ToldState
from drapps.torch.worker_places import StreamPlaces, WorkerPlaces

_log = logging.getLogger("drapps")


@dataclass
class _Overtaken:
    """Batches that come in any order."""

    furthest: int = -1  # position of a batch that was given
    gaps: bool = False  # others in front of it are to come


@dataclass
class Progress:
    """One pass.

    Attributes:
        order: what makes its order.
        epoch: its number.
        base_seed: that the iterator drew, or that of the pass it goes on with.
        key_epoch: stands beside the seed in the key, see `Passes._key_epoch`.
        rank: of the user's sampler, which the random numbers of samples depend on.
        resumed: the state that it goes on from.
        generators: the states of the user's generators when the seed was drawn.
        batches: yielded.
        over: all were yielded.
        plan: how the worker processes ran when it began, as ``explain()`` gives it.
        own_state: what the datasets keep on themselves, where what follows depends on how often it
            has changed.
        from_start: the datasets were new when the pass began.
    """

    order: PythonOrder
    epoch: int
    base_seed: int
    key_epoch: int
    rank: int
    resumed: Mapping[str, Any] | None = None
    generators: States = field(default_factory=dict)
    batches: int = 0
    over: bool = False
    plan: dict[str, Any] = field(default_factory=dict)
    own_state: list[str] = field(default_factory=list)
    from_start: bool = True
    _overtaken: _Overtaken = field(default_factory=_Overtaken)
    _repeated: Mapping[str, Any] | None = None  # the state up to which batches are made again

    def __post_init__(self) -> None:
        self._indices: PassOrder = self.order.kind(self.order, self.resumed)
        self._workers: WorkerPlaces = self.order.places(max(1, self.order.workers))
        if self.resumed is None:
            return
        kept = own_state(self.resumed)
        if kept and not self.resumed.get("from_start"):
            _log.warning("what the dataset keeps in %s is not in the state: it begins anew", kept)
        elif kept and self.resumed["batches"]:
            self._repeated = self.resumed
            self.resumed = self._beginning(self.resumed)
            self._indices = self.order.kind(self.order, self.resumed)
        self.batches = self.resumed["batches"]
        self._workers.load(self.resumed, random=self.order.serial)

    def _beginning(self, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        """The state of the same pass before its first batch."""
        begun = {**saved, "batches": 0, "position": 0, "turn": 0, **self._indices.consumed()}
        begun.pop(WorkerPlaces.field, None)
        return begun

    @property
    def again(self) -> bool:
        """The next batch was given before the state was saved; it is made for nobody.

        What a dataset keeps on itself is not saved: it is brought about again.

        Raises:
            StateError: all batches up to the state's place are made, and are others than those.
        """
        if self._repeated is None:
            return False
        if self.batches < self._repeated["batches"] and not self.over:
            return True
        saved, self._repeated = self._repeated, None
        place = {"batches": self.batches, "position": self._indices.place}
        place |= self._indices.consumed()
        if any(name in saved and saved[name] != value for name, value in place.items()):
            raise StateError(OTHER_ORDER)
        return False

    @property
    def turn(self) -> int:
        """The virtual worker that yields next."""
        return self._workers.turn

    @property
    def position(self) -> int:
        """Samples that the yielded batches held; of this rank."""
        return self._indices.position

    @property
    def drawn_unseen(self) -> bool:
        """Whether nobody can tell how far ahead the sampler has run."""
        return self._indices.drawn_unseen

    @property
    def is_stream(self) -> bool:
        """The dataset is iterable-style."""
        return self.order.stream

    @property
    def _is_within(self) -> bool:
        """It goes on behind batches that a saved pass had yielded."""
        return self.resumed is not None and self.resumed["batches"] > 0

    @property
    def is_resumed_stream(self) -> bool:
        """Streams go on where a state was saved."""
        return self.order.stream and self._is_within

    def starts(self) -> dict[int, dict[str, Any]]:
        """Where serial workers go on; of a new pass, none."""
        if self.resumed is None:
            return {}
        return self._workers.starts_within() if self._is_within else self._workers.starts()

    def follows(self, before: Progress) -> None:
        """The same workers go on after the pass `before`."""
        self._workers.follow(before._workers)

    def drew(self, worker: int, drawn: Mapping[str, bytes]) -> None:
        """The random states `drawn` were others behind what the serial `worker` made last."""
        self._workers.drew(worker, drawn)

    @property
    def _streams(self) -> StreamPlaces:
        assert isinstance(self._workers, StreamPlaces)
        return self._workers

    def ended(self, worker: int) -> None:
        """The stream of `worker` has no more batches."""
        self._streams.ended(worker)

    def advanced(self, worker: int, state: ToldState | None, ended: bool) -> None:
        """A batch of `worker` was yielded, and its stream told `state`; None: it has none."""
        self._streams.advanced(worker, state, ended)

    def failed(self, worker: int) -> None:
        """A batch of `worker` was raised, and of its stream nothing is known."""
        self._streams.failed(worker)

    @property
    def seed(self) -> int | None:
        """The seed that the user gave, if any."""
        return self.order.seed

    @property
    def key(self) -> int:
        """The 64-bit seed of the samples' random numbers."""
        return key_of(self.base_seed if self.seed is None else self.seed, self.rank)

    def shared_seed(self, drawn: int) -> int:
        """The seed of DataPipes, which all ranks share, where the loader has `drawn` one."""
        return drawn if self.seed is None else base_seed_of(self.seed, 0, self.key_epoch)

    def indices(self, fresh: Iterator[Any]) -> Iterator[Any]:
        """The indices of this pass; `fresh` is the sampler's iterator, not begun yet.

        Raises:
            StateError: the sampler does not give the order of the state any more.
        """
        return self._indices.indices(fresh)

    def drawn(self, ahead: bool = True) -> ToldState | None:
        """The sampler's own state after it gave an index; None for most samplers.

        Args:
            ahead: the sampler gives other indices before this one is yielded.
        """
        return self._indices.drawn(ahead)

    def overtook(self, position: int, left: list[int]) -> None:
        """The batch at `position` comes in any order; those that are `left` do not come before."""
        furthest = max(self._overtaken.furthest, position)
        self._overtaken = _Overtaken(furthest, any(one < furthest for one in left))

    def yielded(self, index: Any, sampler_state: ToldState | None, worker: int = 0) -> None:
        """The batch of `index`, which `worker` has made, was given to the user."""
        self.batches += 1
        self._workers.yielded(worker)
        self._indices.yielded(index, sampler_state)
        self.over = self.batches == self._indices.length

    def state_dict(self) -> dict[str, Any]:
        """The state after the batches yielded."""
        if self._repeated is not None:
            return dict(self._repeated)
        saved = state.make(KIND, self.epoch, self._indices.place, self.order.identity)
        saved |= {"batches": self.batches, **self._seeds(self.key_epoch)}
        generators = fields(self.generators)
        if self._indices.before is not None and self.order.own_generator is not None:
            shared = self.order.own_generator is self.order.generator
            generators.pop(LOADERS if shared else SAMPLERS, None)  # which stands below
        saved |= {**generators, **self._indices.state()}
        epoch = attribute_of(self.order.sampler, "epoch")
        if isinstance(epoch, int):
            saved["sampler_epoch"] = epoch
        if self.order.stream or self.order.workers:
            saved |= {
                "batch_size": self.order.batch_size,
                **self._workers.state(within=self.batches > 0),
            }
        if self._overtaken.gaps and not self.order.stream:
            saved["gaps"] = True
        if self.own_state:
            again = self.from_start and self._indices.gives_all_again
            saved |= {"own_state": self.own_state, "from_start": again}
        return saved

    def _seeds(self, key_epoch: int) -> dict[str, Any]:
        given = {} if self.seed is None else {"given_seed": self.seed}
        return {"seed": self.base_seed, "key_epoch": key_epoch, **given}

    def lasting(self) -> dict[str, Any]:
        """What the next pass has of this one, which is over: what persistent workers keep."""
        own = {"own_state": self.own_state, "from_start": False} if self.own_state else {}
        return {**self._seeds(self.key_epoch + 1), **self._workers.state_of_next(), **own}
