"""The user's dataset and collate function in a worker process, as stock workers treat them."""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch.utils.data import IterDataPipe, _DatasetKind
from torch.utils.data._utils import HAS_NUMPY
from torch.utils.data._utils import worker as stock
from torch.utils.data.graph_settings import apply_random_seed

from drapps.torch.drawn import set_packed_states
from drapps.torch.failure import failure_of
from drapps.torch.seeding import SampleSeeds, StockNumbers, random_states, set_random_states
from drapps.torch.shared_storage import share_new_storages
from drapps.torch.tensors import tensor_reducer
from drapps.torch.worker_reports import BegunPass
from drapps.worker.serialise import Reduce

if TYPE_CHECKING:
    from typing_extensions import Self


class WatchedInfo(stock.WorkerInfo):
    """Tells by `asked` whether anybody wanted to know which worker this is."""

    asked = False

    def __getattribute__(self, name: str) -> Any:
        if name in ("id", "num_workers"):
            object.__setattr__(self, "asked", True)
        return object.__getattribute__(self, name)


@dataclass(kw_only=True)
class TorchJob(ABC):
    """What a stock worker is given, and which random numbers it draws.

    Attributes:
        kind: of `_DatasetKind`.
        dataset: the user's.
        auto_collation: an index is a list.
        collate_fn: the user's or torch's.
        drop_last: for streams.
        base_seed: what the iterator drew.
        worker_init_fn: the user's.
        workers: the number of virtual workers.
        shared_seed: of DataPipes.
        numbers: those of each sample's place, or each worker's stock stream of numbers.
        keeps_random: tell the random states at the beginning of a pass, so that another process
            can take over.
    """

    kind: ClassVar[Any]
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    worker_init_fn: Callable[[int], None] | None
    workers: int
    shared_seed: int | None
    numbers: SampleSeeds | StockNumbers
    keeps_random: bool
    _infos: dict[int, WatchedInfo] = field(default_factory=dict)
    _current: int = -1
    _fetcher: Any = None
    _shared_rng: Any = None
    # Sent with the last batch, which may not arrive.
    _last_draws: dict[str, bytes] = field(default_factory=dict)
    _states: Any = None  # random ones, while it is not its turn

    def in_thread(self, within: Callable[[], AbstractContextManager[None]]) -> Self:  # noqa: ARG002
        """A copy over the same dataset."""
        return copy.copy(self)

    @property
    @abstractmethod
    def keeps_state(self) -> bool:
        """The first batch has changed the dataset."""

    def start(self, worker: int, allocate: Callable[[int], Any]) -> None:
        """Begins as a stock worker does."""
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
            self.numbers.keep_initial_seed(worker, torch.initial_seed())
        self.numbers.start()
        self.begin(worker)

    def begin(self, worker: int) -> None:  # noqa: ARG002
        """Makes what the first batch of `worker` needs."""
        self._go_to({})

    @abstractmethod
    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch by the stock fetcher."""

    def begin_pass(self, epoch: int, message: Any) -> BegunPass:  # noqa: ARG002
        """A new pass, or a place in one.

        Args:
            epoch: its number.
            message: ``shared_seed`` of DataPipes; ``random`` states to begin with, and packed ones,
                ``began``; other packed ones to go on with behind the place, ``drawn``; of a stream
                also the place, see `StreamJob`.
        """
        self._seed_pipes(message["shared_seed"])
        if "random" in message:
            set_random_states(message["random"])
        set_packed_states(message.get("began", {}))
        states = random_states() if self.keeps_random else None
        self._go_to(message)
        set_packed_states(message.get("drawn", {}))
        return BegunPass(states, self.numbers.begin_pass())

    def _go_to(self, message: Any) -> None:  # noqa: ARG002
        """The next batch is that of the place which `message` names, or the first one."""
        self._fetcher = self._new_fetcher()

    @abstractmethod
    def leave(self, worker: int) -> tuple[str, Any] | None:
        """How `worker` can go to another process now, and what it takes along; None: it cannot."""

    def _carried(self, worker: int) -> dict[str, Any]:
        """The dataset object and the random states of `worker`."""
        return {
            "dataset": self.dataset,
            "random": random_states(),
            "shared_rng": self._shared_rng,
            "asked": self._infos[worker].asked,
        }

    def join(self, worker: int, carried: Any) -> Self:
        """A job beside this one for `worker`, which comes from another process; its turn begins."""
        job = copy.copy(self)
        job.dataset, job._shared_rng = carried["dataset"], carried["shared_rng"]
        job.numbers, job._infos = self.numbers.joined(), {}
        job._become(worker)
        object.__setattr__(job._infos[worker], "asked", carried["asked"])
        job._arrive(carried)
        set_random_states(carried["random"])  # whatever the beginning of a stream drew
        return job

    def _arrive(self, carried: Any) -> None:  # noqa: ARG002
        """Goes on with what a virtual worker has brought along."""
        self._fetcher = self._new_fetcher()

    def pause(self) -> None:
        """The turn of another job begins: keeps what is global to the process."""
        self._states = random_states()

    def go_on(self) -> None:
        """The turn of this job begins."""
        set_random_states(self._states)
        self._become(self._current)

    def failure(self, error: Exception, worker: int, sample: str) -> Any:
        """What the stock loader would send, with the sample named; pickles in any case."""
        failure = failure_of(error, f"in DataLoader worker process {worker}", sample)
        failure.drawn = {**self._last_draws, **self._drawn()}
        return failure

    def _drawn(self) -> dict[str, bytes]:
        """The changed random states; told again with a failure, where the batch was not sent."""
        self._last_draws = self.numbers.drawn()
        return self._last_draws

    def reducer(self) -> Reduce:
        """Tensors travel as buffers."""
        return tensor_reducer()

    def packer(self) -> Reduce:
        """Tensors travel as buffers; one in shared memory is refused: it would not stay shared."""
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
