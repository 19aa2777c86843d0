"""Where a pass over Python code stands: what was yielded, in which order, and how to go on there.

The sampler runs ahead of the batches that were yielded, so its place is no place to save. What is
saved is the number of samples yielded, and what makes the same order again:

==================  ===========================================================================
sequential          nothing
random              the seed that torch's ``RandomSampler`` drew
permuted            the same, which is that of our own order of a large dataset
distributed         the sampler's seed and epoch; the position counts over all ranks, so that any
                    other number of ranks can deal out what is left
dealt               the same of our own order
stateful            the sampler's own ``state_dict()`` as it was when the batch was drawn
replayed            the state of the generator it draws from; the sampler is run again up to the
                    place, and a digest tells whether it gives the same order
==================  ===========================================================================
"""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import itertools
import logging
import pickle
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sized
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import BatchSampler

from drapps import state
from drapps.errors import StateError
from drapps.torch.drawn import packed_states
from drapps.torch.generators import LOADERS, SAMPLERS, States, fields, packed, unpacked
from drapps.torch.permuted import permuted
from drapps.torch.python_order import PythonOrder
from drapps.torch.python_state import KIND, WORKERS, own_state, sampler_had_begun

_log = logging.getLogger("drapps")
_OTHER_ORDER = (
    "the sampler gives another order than when the state was saved: seed it, and set its epoch, as "
    "they were then"
)


def _packed(place: Mapping[str, Any], drawn: Mapping[str, bytes]) -> dict[str, Any]:
    """What is saved of a serial worker: its place, and the random states it goes on with."""
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


def _untensored(index: Any) -> Any:
    """An index without tensors, whose pickles name addresses of memory."""
    if isinstance(index, torch.Tensor):
        return index.tolist()
    return type(index)(map(_untensored, index)) if type(index) in (list, tuple) else index


def _samples_digested(indices: list[Any]) -> bytes:
    """What tells some samples from others, however they are cut into batches."""
    if not all(type(index) is int for index in indices):
        indices = _untensored(indices)
    if all(type(index) is int for index in indices):
        return "".join(f"{index}," for index in indices).encode()
    return b"".join(pickle.dumps(index, protocol=4) for index in indices)


def _listed(index: Any) -> Any:
    told = isinstance(index, Sized) and not isinstance(index, MappingView)
    return index if told or not isinstance(index, Iterable) else list(index)


def _digested(index: Any, sized: bool) -> bytes:
    """What tells an index from others, of any kind of batch; of what cannot be told, its type.

    An iterator tells nothing: it has been consumed, or will be.
    """
    if not isinstance(index, Iterator):
        with contextlib.suppress(Exception):  # a state matters less than the batch
            same = isinstance(index, (list, tuple)) or not sized
            return pickle.dumps(_untensored(index if same else list(index)), protocol=4)
    return type(index).__qualname__.encode()


def _drawn_seed(generator: torch.Generator) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


@dataclass
class Progress:
    """One pass.

    Attributes:
        order: what makes its order.
        epoch: its number.
        base_seed: that the iterator drew, or that of the pass it goes on with.
        key_epoch: stands beside it in the key, see `DataLoader._key_epoch`.
        seed: that the user gave, if any, for the samples' random numbers.
        rank: of the user's sampler, which the random numbers of samples depend on.
        resumed: the state that it goes on from.
        generators: the states of the user's generators when the seed was drawn.
        position: samples that the yielded batches held; of this rank.
        batches: yielded.
        over: all were yielded.
        turn: the virtual worker that yields next.
        plan: how the process engine ran when it began, as ``explain()`` gives it.
        own_state: what the datasets keep on themselves, where what follows depends on how often it
            has changed.
        from_start: the datasets were new when the pass began.
    """

    order: PythonOrder
    epoch: int
    base_seed: int
    key_epoch: int
    seed: int | None
    rank: int
    resumed: Mapping[str, Any] | None = None
    generators: States = field(default_factory=dict)
    position: int = 0
    batches: int = 0
    over: bool = False
    turn: int = 0
    plan: dict[str, Any] = field(default_factory=dict)
    own_state: list[str] = field(default_factory=list)
    from_start: bool = True
    _furthest: int = -1  # position of a batch that was given out of order
    _gaps: bool = False  # others in front of it are to come
    _place: Mapping[str, Any] | None = None  # up to which batches are made again
    _before: Any = None  # the generator's state before the sampler drew
    _dealt: int = 0  # samples that all ranks together had yielded when the ranks changed
    _start: int = 0  # this rank's position then
    _digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=8))
    _sampler_state: Any = None
    _flat: bool = True  # the digest is of samples, not of batches of the user's
    _total: int = -1  # batches of the whole pass, once that is known
    _workers: list[dict[str, Any]] = field(default_factory=list)  # where the stream of each is
    _random: list[dict[str, bytes]] = field(default_factory=list)  # random states, likewise

    def __post_init__(self) -> None:
        count = max(1, self.order.workers)
        self._workers = [{"batches": 0} if self.is_stream else {} for _ in range(count)]
        self._random = [{} for _ in range(count)]
        own = (
            self.order.batch_sampler is not None
            and type(self.order.batch_sampler) is not BatchSampler
        )
        self._flat = not own
        if self.resumed is None:
            return
        kept = own_state(self.resumed)
        if kept and not self.resumed.get("from_start"):
            _log.warning("what the dataset keeps in %s is not in the state: it begins anew", kept)
        elif kept and self.resumed["batches"]:
            self._place = self.resumed
            self.resumed = self._beginning(self.resumed)
        self.batches = self.resumed["batches"]
        cut = str(self.resumed.get("consumed", "samples:"))  # by batches, in an earlier release
        self._flat = self._flat and cut.startswith("samples:")
        saved = self.resumed.get(WORKERS[self.is_stream], ())
        if len(saved) == count:
            self.turn = self.resumed["turn"]
            self._workers = [copy.deepcopy(dict(worker)) for worker in saved]
            drawn = [_unpacked(worker.pop("drawn", {})) for worker in self._workers]
            self._random = drawn if self.order.serial else self._random

    def _beginning(self, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        """The state of the same pass before its first batch."""
        begun = {**saved, "batches": 0, "position": 0, "turn": 0}
        begun.pop(WORKERS[False], None)
        if "consumed" in saved:
            self._flat = self._flat and saved["consumed"].startswith("samples:")
            begun["consumed"] = self._consumed
        return begun

    @property
    def again(self) -> bool:
        """The next batch was given before the state was saved; it is made for nobody.

        What a dataset keeps on itself is not saved: it is brought about again.

        Raises:
            StateError: all of them are made, and are others than those.
        """
        if self._place is None:
            return False
        if self.batches < self._place["batches"] and not self.over:
            return True
        saved, self._place = self._place, None
        found: dict[str, Any] = {"batches": self.batches, "position": self._position}
        if "consumed" in saved:
            found["consumed"] = self._consumed
        if any(saved[name] != value for name, value in found.items()):
            raise StateError(_OTHER_ORDER)
        return False

    @property
    def is_stream(self) -> bool:
        """The dataset is iterable-style."""
        return self.order.stream

    @property
    def is_resumed_stream(self) -> bool:
        """Streams go on where a state was saved."""
        return self.is_stream and self.resumed is not None and self.resumed["batches"] > 0

    def starts(self) -> dict[int, dict[str, Any]]:
        """Where serial workers go on; of a new pass, none."""
        if self.is_resumed_stream:
            places = copy.deepcopy(self._workers)
            return {i: {**place, "drawn": dict(self._random[i])} for i, place in enumerate(places)}
        if self.resumed is None:
            return {}
        return {i: {"drawn": dict(drawn)} for i, drawn in enumerate(self._random) if drawn}

    def follows(self, before: Progress) -> None:
        """The same workers go on after the pass `before`."""
        self._random = before._random

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

    def drew(self, worker: int, drawn: Mapping[str, bytes]) -> None:
        """These random states were others behind what the serial `worker` made last."""
        self._random[worker].update(drawn)

    @property
    def _draws_from_own(self) -> bool:
        """The sampler has a generator of the user's."""
        return isinstance(getattr(self.order.sampler, "generator", None), torch.Generator)

    @property
    def key(self) -> int:
        """The 64-bit seed of the samples' random numbers."""
        seed = self.base_seed if self.seed is None else self.seed
        return (seed + self.rank * 0x9E3779B97F4A7C15) % (1 << 64)

    def indices(self, fresh: Iterator[Any]) -> Iterator[Any]:
        """The indices of this pass; `fresh` is the sampler's iterator, not begun yet.

        Raises:
            StateError: the sampler does not give the order of the state any more.
        """
        own = self._draws_from_own
        generator = self.order.sampler.generator if own else torch.default_generator
        saved = self.resumed
        begun = saved and (saved["batches"] or sampler_had_begun(saved, self.order.kind))
        if saved and begun and not self.is_stream:
            return self._resumed_order(saved, generator)
        if self.order.computed:
            fresh = self._computed(generator)
        return self._observed(fresh, generator)

    def _sendable(self, indices: Iterator[Any]) -> Iterator[Any]:
        """Batches as a worker process can be told them: no generators, and no views of dicts."""
        own = self.order.kind == "replayed" and self.order.batch_sampler is not None
        return map(_listed, indices) if own and self.order.workers else indices

    def _observed(self, fresh: Iterator[Any], generator: torch.Generator) -> Iterator[Any]:
        if self.order.kind in ("random", "permuted", "replayed"):
            self._before = generator.get_state()  # as it is when the sampler draws
        yield from self._sendable(fresh)

    def _resumed_order(self, saved: Mapping[str, Any], generator: torch.Generator) -> Iterator[Any]:
        kind = self.order.kind
        position = saved["position"]
        if self.order.over_ranks:
            return self._dealt_order(position)
        if kind == "replayed":
            return self._replayed(saved, generator)
        self.position = position
        if kind == "stateful":
            self._restore_sampler(saved["sampler"])
            self._sampler_state = saved["sampler"]
            return iter(self.order.indices)
        sampler = self.order.sampler
        if kind == "permuted":
            rest = permuted(self.order.size, saved["sampler_seed"], first=position)
            return self._rebatched(rest, self.order.size - position)
        if kind == "random":
            sampler = copy.copy(sampler)
            sampler.generator = torch.Generator().manual_seed(saved["sampler_seed"])
        left = len(sampler) - position
        return self._rebatched(itertools.islice(iter(sampler), position, None), left)

    def _restore_sampler(self, saved: Any) -> None:
        sampler = self.order.stateful
        try:
            sampler.load_state_dict(saved)
        except Exception as error:
            name = f"{type(sampler).__qualname__}.load_state_dict"
            raise StateError(f"the state's sampler is refused by {name}: {error!r}") from error

    def _replayed(self, saved: Mapping[str, Any], generator: torch.Generator) -> Iterator[Any]:
        mine = generator is not torch.default_generator
        kept = generator.get_state()
        self._before = unpacked("generator", saved["generator"])
        generator.set_state(self._before)
        order = iter(self.order.sampler if self._flat else self.order.indices)
        order = order if self._flat else self._sendable(order)
        for index in itertools.islice(order, saved["position" if self._flat else "batches"]):
            if self._flat:
                self.position += 1
                self._digest.update(_samples_digested([index]))
            else:
                self._count(index)
        ahead = list(itertools.islice(order, 1))  # it draws at the first one, at the latest
        if not mine:  # the global random state belongs to the user
            generator.set_state(kept)
        if (self._consumed, self.position) != (saved["consumed"], saved["position"]):
            raise StateError(_OTHER_ORDER)
        rest = itertools.chain(ahead, order)
        return self._rebatched(rest, self._left()) if self._flat else rest

    @property
    def _consumed(self) -> str:
        """What tells the samples that were yielded, in batches of the user's kind, from others."""
        return ("samples:" if self._flat else "") + str(self._digest.hexdigest())

    def _left(self) -> int | None:
        """Samples of the sampler that are to come; None where it does not say how many it has."""
        try:
            return max(0, len(self.order.sampler) - self.position)
        except Exception:  # the user's own, or there is none
            return None

    def _computed(self, generator: torch.Generator) -> Iterator[Any]:
        if self.order.over_ranks:
            yield from self._dealt_order(0)
        else:
            whole = permuted(self.order.size, _drawn_seed(generator))
            yield from self._rebatched(whole, self.order.size)

    def _dealt_order(self, position: int) -> Iterator[Any]:
        """What all ranks have left from `position` on, of which each takes as many samples."""
        sampler = self.order.sampler
        ranks, size = sampler.num_replicas, len(sampler.dataset)
        self._dealt = position
        self.position = self._start = position // ranks
        left = size - position
        each = left // ranks if sampler.drop_last else -(-left // ranks)
        first = position + sampler.rank
        if self.order.computed:
            mine = permuted(size, sampler.seed, sampler.epoch, first, ranks, each)
            return self._rebatched(mine, each)
        everything = copy.copy(sampler)
        everything.num_replicas, everything.rank, everything.drop_last = 1, 0, False
        everything.num_samples = everything.total_size = size
        padded = itertools.cycle(list(everything))  # as the sampler pads
        mine = itertools.islice(padded, first, first + each * ranks, ranks)
        return self._rebatched(mine, each)

    def _rebatched(self, indices: Iterator[Any], count: int | None) -> Iterator[Any]:
        """Batches of the `count` indices that are left, if that is known."""
        batches = self.order.batch_sampler
        if batches is None:
            self._total = -1 if count is None else self.batches + count
            return indices
        size = batches.batch_size
        if count is not None:
            self._total = self.batches + (count // size if batches.drop_last else -(-count // size))
        return iter(BatchSampler(indices, batches.batch_size, batches.drop_last))

    def drawn(self) -> Any:
        """The sampler's own state after it gave an index; None for most samplers."""
        if self.order.kind != "stateful":
            return None
        return copy.deepcopy(self.order.stateful.state_dict())

    def overtook(self, position: int, left: list[int]) -> None:
        """The batch at `position` comes in any order; those that are `left` do not come before."""
        self._furthest = max(self._furthest, position)
        self._gaps = any(one < self._furthest for one in left)

    def yielded(self, index: Any, sampler_state: Any, worker: int = 0) -> None:
        """The batch of `index`, which `worker` has made, was given to the user."""
        self.batches += 1
        self.turn = (worker + 1) % len(self._workers)
        self._sampler_state = sampler_state
        if not self.is_stream:
            self._count(index)
            self.over = self.batches == self._length()

    def _length(self) -> int:
        """Batches of the whole pass; -1 where that is not known."""
        if self._total < 0:
            with contextlib.suppress(Exception):  # the user's own, or there is none
                self._total = len(self.order.indices)
        return self._total

    def _count(self, index: Any) -> None:
        grouped = self.order.batch_sampler is not None
        sized = grouped and isinstance(index, Sized)
        self.position += len(index) if sized else 1
        if self.order.kind == "replayed" and not self._flat:
            self._digest.update(_digested(index, sized))
        elif self.order.kind == "replayed":
            self._digest.update(_samples_digested(list(index) if sized else [index]))

    def state_dict(self) -> dict[str, Any]:
        """The state after the batches yielded."""
        if self._place is not None:
            return dict(self._place)
        record = state.make(KIND, self.epoch, self._position, self.order.identity)
        record |= {"batches": self.batches, "seed": self.base_seed, "key_epoch": self.key_epoch}
        generators = fields(self.generators)
        if self._before is not None and self._draws_from_own:  # which stands below
            shared = self.order.sampler.generator is self.order.generator
            generators.pop(LOADERS if shared else SAMPLERS, None)
        record |= generators
        begun = self._before is not None or "sampler_seed" in (self.resumed or {})
        if self.order.kind in ("random", "permuted") and begun:
            record["sampler_seed"] = self._sampler_seed()
        elif self.order.kind == "stateful" and self._sampler_state is not None:
            record["sampler"] = self._sampler_state
        elif self.order.kind == "replayed" and self._before is not None:
            record["consumed"] = self._consumed
            record["generator"] = packed(self._before)
        epoch = getattr(self.order.sampler, "epoch", None)
        if isinstance(epoch, int):
            record["sampler_epoch"] = epoch
        if self.is_stream or self.order.workers:
            record |= {"batch_size": self.order.batch_size, **self._places()}
        if self._gaps and not self.is_stream:
            record["gaps"] = True
        if self.own_state:
            again = self.from_start and self._dealt == 0 and self.order.kind != "stateful"
            record |= {"own_state": self.own_state, "from_start": again}
        return record

    @property
    def _position(self) -> int:
        """Samples that were yielded, over all ranks where they count so."""
        if not self.order.over_ranks:
            return self.position
        ranks = self.order.sampler.num_replicas
        position: int = self._dealt + (self.position - self._start) * ranks
        return min(position, len(self.order.sampler.dataset))

    def lasting(self) -> dict[str, Any]:
        """What the next pass has of this one, which is over: what persistent workers keep."""
        place = (self.order, self.epoch + 1, self.base_seed, self.key_epoch + 1)
        after = Progress(*place, self.seed, self.rank)
        after.follows(self)
        own = {"own_state": self.own_state, "from_start": False} if self.own_state else {}
        return {"seed": self.base_seed, "key_epoch": after.key_epoch, **after._places(), **own}

    def _places(self) -> dict[str, Any]:
        workers = zip(self._workers, self._random, strict=True)
        places = [_packed(*worker) for worker in workers]
        return {WORKERS[self.is_stream]: places, "turn": self.turn}

    def _sampler_seed(self) -> int:
        """What ``RandomSampler`` draws from the global generator when it begins."""
        if self._before is None:
            assert self.resumed is not None
            return int(self.resumed["sampler_seed"])
        generator = torch.Generator()
        generator.set_state(self._before)
        return _drawn_seed(generator)
