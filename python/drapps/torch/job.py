"""The user's dataset and collate function in a worker process, as stock workers treat them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import IterDataPipe, Subset, _DatasetKind
from torch.utils.data._utils import HAS_NUMPY
from torch.utils.data._utils import worker as stock
from torch.utils.data.graph_settings import apply_random_seed

from drapps.torch.drawn import Drawn, packed_states, set_packed_states
from drapps.torch.failure import failure_of
from drapps.torch.own_state import Watch
from drapps.torch.seeding import SampleSeeds, random_states, set_random_states
from drapps.torch.shared_storage import share_new_storages
from drapps.torch.streams import fetcher_at, stream_state
from drapps.torch.tensors import tensor_reducer
from drapps.worker.job import EndOfStream
from drapps.worker.serialise import Envelope, Reduce


@dataclass(frozen=True)
class ReportedBatch(Envelope):
    """A batch, and where it has left the virtual worker that made it.

    Attributes:
        data: the batch.
        drawn: of `packed_states` those that are others than behind the batch before.
        state: of its stream; None where it has none of its own.
        ended: its stream has ended behind what may be less than a batch.
        whole: the stream is the same in all workers, as far as one can tell.
        changed: what the dataset keeps on itself, see `Watch`; None where nobody has looked.
    """

    data: Any
    drawn: dict[str, bytes] = field(default_factory=dict)
    state: Any = None
    ended: bool = False
    whole: bool = False
    changed: dict[str, bool] | None = None

    def parts(self) -> list[tuple[str, Any]]:
        """The user's."""
        return [("", self.data), ("'s state_dict()", self.state)]


class WatchedInfo(stock.WorkerInfo):
    """Tells by `asked` whether anybody wanted to know which worker this is."""

    asked = False

    def __getattribute__(self, name: str) -> Any:
        if name in ("id", "num_workers"):
            object.__setattr__(self, "asked", True)
        return object.__getattribute__(self, name)


@dataclass
class TorchJob:
    """What a stock worker is given, and how random states are seeded.

    Attributes:
        dataset: the user's.
        kind: of `_DatasetKind`.
        auto_collation: an index is a list.
        collate_fn: the user's or torch's.
        drop_last: for streams.
        batch_size: of streams.
        base_seed: what the iterator drew.
        worker_init_fn: the user's.
        workers: the number of virtual workers.
        shared_seed: of DataPipes.
        seeds: reseeds before each sample; None leaves each worker its stock stream of numbers.
        keeps_random: tell the random states at the beginning of a pass, so that another process
            can take over.
        watches: look at what samples change in the dataset.
    """

    dataset: Any
    kind: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    batch_size: int
    base_seed: int
    worker_init_fn: Callable[[int], None] | None
    workers: int
    shared_seed: int | None
    seeds: SampleSeeds | None
    keeps_random: bool
    watches: bool
    _infos: dict[int, WatchedInfo] = field(default_factory=dict)
    _current: int = -1
    _fetcher: Any = None
    _shared_rng: Any = None
    _begun: bool = False  # the stream was asked for a batch
    _over: bool = False  # it has ended
    _began: dict[str, Any] | None = None  # the dataset's attributes before it
    _place: Any = None  # the state that it was given, until it is asked for a batch
    _before: dict[str, Any] | None = None  # the dataset's attributes before it was given that
    _states: Any = None  # random ones, while it is not its turn
    _at_start: dict[str, bytes] = field(default_factory=dict)  # packed ones
    _drawn: Drawn = field(default_factory=Drawn)  # since the parent was told
    _watch: Watch | None = None
    _own_state: bool | None = None  # what it told first

    def in_thread(self) -> TorchJob:
        """A copy over the same dataset."""
        return copy.copy(self)

    @property
    def bound(self) -> bool:
        """What a virtual worker makes depends on its own dataset object."""
        return self.kind == _DatasetKind.Iterable or self.worker_init_fn is not None

    @property
    def by_sample(self) -> bool:
        """Batches are made sample by sample, with random states for each, and then collated."""
        mapped = self.kind == _DatasetKind.Map and self.auto_collation
        return mapped and self.seeds is not None and gives_samples(self.dataset)

    @property
    def keeps_state(self) -> bool:
        """The first batch has changed the dataset."""
        return bool(self._own_state)

    def start(self, worker: int, allocate: Callable[[int], Any]) -> None:
        """As a stock worker begins."""
        torch._C._set_worker_signal_handlers()
        torch.multiprocessing._set_thread_name("drapps_worker")
        torch.set_num_threads(1)
        seed = self.base_seed + worker
        random.seed(seed)
        torch.manual_seed(seed)
        if HAS_NUMPY:
            import numpy as np

            np.random.seed(stock._generate_state(self.base_seed, worker))  # type: ignore[no-untyped-call]
        share_new_storages(allocate)
        self._seed_pipes(self.shared_seed)
        self._become(worker)
        if self.worker_init_fn is not None:
            self.worker_init_fn(worker)
            if self.seeds is not None:
                self.seeds.keep_initial_seed(worker, torch.initial_seed())
        self._began = _attributes(self.dataset)
        self._at_start = packed_states()
        self._drawn = Drawn(self._at_start)
        self._fetcher = self._new_fetcher()
        if self.watches:
            self._watch = Watch({"dataset": self.dataset, "collate_fn": self.collate_fn})

    def sample(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """``dataset[index]`` by the virtual worker, with the position's random numbers."""
        if worker != self._current:
            self._become(worker)
        if self.seeds is not None:
            self.seeds.sample(worker, epoch, position)
        sample = self.dataset[index]
        if self._watch is not None:
            self._watch.sample_made()
        return sample

    def collate(self, samples: list[Any], worker: int, epoch: int, position: int) -> Any:
        """The user's collate function; its random numbers are those of the first position."""
        self._become(worker)
        if self.seeds is not None:
            self.seeds.batch(worker, epoch, position)
        data, changed = self.collate_fn(samples), self._changed()
        return data if changed is None else ReportedBatch(data, changed=changed)

    def _changed(self) -> dict[str, bool] | None:
        """What the batches so far have changed in the dataset; None where that is not looked at."""
        changed = None if self._watch is None else self._watch.batch_made()
        if changed is not None and self._own_state is None:
            self._own_state = bool(changed)
        return changed

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch by the stock fetcher."""
        if self._over:
            raise EndOfStream
        self._become(worker)
        if self.seeds is not None:
            self.seeds.batch(worker, epoch, position)
        self._begun, self._place = True, None
        try:
            data = self._fetcher.fetch(index)
        except StopIteration:
            if self.kind == _DatasetKind.Iterable:
                self._over = True
                raise EndOfStream from None
            raise
        changed = self._changed()
        if self.seeds is not None:
            return data if changed is None else ReportedBatch(data, changed=changed)
        drawn, state, ended, whole = self._drawn.since(), None, False, False
        if self.kind == _DatasetKind.Iterable:
            state, ended = stream_state(self._fetcher), self._fetcher.ended
            everywhere = self.workers > 1 and self.worker_init_fn is None
            whole = everywhere and not self._infos[worker].asked
        told = drawn or ended or whole or state is not None or changed is not None
        return ReportedBatch(data, drawn, state, ended, whole, changed) if told else data

    def resume(self, epoch: int, message: Any) -> Any:  # noqa: ARG002
        """A new pass, or a place in one; gives as a batch the random states that it began with.

        Args:
            epoch: its number.
            message: ``shared_seed`` of DataPipes; of a stream that goes on ``batches``, and its own
                ``state`` where it has one, else it is run again up to there; ``random`` states to
                begin with, and packed ones to go on with, ``drawn``.
        """
        if self._place is not None:  # nobody has looked at it
            _set_attributes(self.dataset, self._before)
        self._seed_pipes(message["shared_seed"])
        if "random" in message:
            set_random_states(message["random"])
        states = random_states() if self.keeps_random else None
        size = [None] * self.batch_size if self.auto_collation else None
        self._began = self._before = _attributes(self.dataset)
        self._place = message.get("state")
        self._fetcher = fetcher_at(self._new_fetcher, self.dataset, message, size)
        set_packed_states(message.get("drawn", {}))
        self._begun = self._place is None and message.get("batches", 0) > 0
        self._over = False
        self._drawn = Drawn(self._at_start)  # what was made for nobody has changed them, too
        return ReportedBatch(states, self._drawn.since() if self.seeds is None else {})

    def leave(self, worker: int) -> tuple[str, Any] | None:
        """How `worker` can go to another process now, and what it takes along; None: it cannot.

        Its dataset object and random states; of a stream that has not ended its ``state_dict``, and
        the dataset's attributes as they were when it began, as it begins again from there.
        """
        carried = {
            "dataset": self.dataset,
            "random": random_states(),
            "shared_rng": self._shared_rng,
            "asked": self._infos[worker].asked,
            "over": self._over or getattr(self._fetcher, "ended", False),
        }
        if self.kind != _DatasetKind.Iterable:
            return "with its dataset, between two batches", carried
        if self._over or self._fetcher.ended:
            return "with its dataset, after the end of its stream", carried
        # A stream may begin, and look at what it was given, as late as with its first batch.
        before = _attributes(self.dataset) if self._place is None else self._before
        state = stream_state(self._fetcher) if self._begun else self._place
        carried |= {"stream": {"state": state}, "began": self._began, "before": before}
        if state is not None:
            return "by the state_dict of its stream", carried
        return None if self._begun else ("before its stream has begun", carried)

    def arrive(self, worker: int, carried: Any) -> TorchJob:
        """A job beside this one for `worker`, which comes from another process; its turn begins."""
        job = copy.copy(self)
        job.dataset, job._shared_rng = carried["dataset"], carried["shared_rng"]
        job._over, job._begun, job._place, job._infos = carried["over"], False, None, {}
        job._at_start, job._drawn, job._watch = {}, Drawn(), None
        job._become(worker)
        object.__setattr__(job._infos[worker], "asked", carried["asked"])
        if self.kind != _DatasetKind.Iterable:
            job._fetcher = job._new_fetcher()
        elif not job._over:
            job._began, job._before = carried["began"], carried["before"]
            job._place = carried["stream"]["state"]
            _set_attributes(job.dataset, job._began)
            job._fetcher = fetcher_at(job._new_fetcher, job.dataset, carried["stream"], None)
        set_random_states(carried["random"])  # whatever the beginning of the stream drew
        return job

    def pause(self) -> None:
        """The turn of another job begins: keeps what is global to the process."""
        self._states = random_states()

    def go_on(self) -> None:
        """Its own turn begins."""
        set_random_states(self._states)
        self._become(self._current)

    def failure(self, error: Exception, worker: int, sample: str) -> Any:
        """What the stock loader would send, with the sample named; pickles in any case."""
        failure = failure_of(error, f"in DataLoader worker process {worker}", sample)
        failure.drawn = self._drawn.since() if self.seeds is None else {}
        return failure

    def reducer(self) -> Reduce:
        """Tensors travel as buffers."""
        return tensor_reducer()

    def packer(self) -> Reduce:
        """The same; a tensor that other processes share would not be shared any more."""
        return tensor_reducer(refuse_shared=True)

    def sender(self) -> Reduce:
        """Shared tensors stay shared; others travel in the memory that all processes map."""
        return tensor_reducer(shared=True)

    def _become(self, worker: int) -> None:
        if worker not in self._infos:
            seed = self.base_seed + worker
            info = WatchedInfo(worker, self.workers, seed, self.dataset)
            self._infos[worker] = info
        self._current = worker
        stock._worker_info = self._infos[worker]

    def _new_fetcher(self) -> Any:
        return _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
            self.kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last
        )

    def _seed_pipes(self, shared_seed: int | None) -> None:
        if isinstance(self.dataset, IterDataPipe):
            if self._shared_rng is None:
                self._shared_rng = torch.Generator()
            self._shared_rng.manual_seed(shared_seed)
            self.dataset = apply_random_seed(self.dataset, self._shared_rng)


def gives_samples(dataset: Any) -> bool:
    """Whether a batch is its samples one by one; a ``Subset`` gives what its dataset gives."""
    if not getattr(dataset, "__getitems__", None):
        return True
    kind = type(dataset)
    plain = "__getitems__" not in getattr(dataset, "__dict__", {}) and issubclass(kind, Subset)
    plain = plain and kind.__getitems__ is Subset.__getitems__
    return plain and kind.__getitem__ is Subset.__getitem__ and gives_samples(dataset.dataset)


def _attributes(dataset: Any) -> dict[str, Any] | None:
    """A copy of them, their values not copied; None where it has no dictionary."""
    return dict(vars(dataset)) if hasattr(dataset, "__dict__") else None


def _set_attributes(dataset: Any, attributes: dict[str, Any] | None) -> None:
    if attributes is not None:
        vars(dataset).clear()
        vars(dataset).update(attributes)
