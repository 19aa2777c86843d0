"""``drapps.torch.DataLoader``: torch's, lifted to the native path where that is certain.

Over 500 lines: it has every member of torch's loader and of `drapps.Loader`, with what each
argument means.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

import torch
from torch.utils.data import BatchSampler, Dataset, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps import _core, arguments, state
from drapps.accelerate.acceleration import Acceleration
from drapps.arguments import Bytes
from drapps.attributes import method_of
from drapps.bad_samples import file_at
from drapps.deprecation import old_keyword, old_method
from drapps.epochs import Epochs
from drapps.errors import PipelineError, StateError
from drapps.loader_options import loader_options
from drapps.monitor.observing import Observer
from drapps.monitor.offering import Look, native_look, observed
from drapps.placement import PLACEMENTS, Placement, placement_options
from drapps.policy import Policy, choice, to_json
from drapps.recording import Recording, look_after, record_native
from drapps.report import BadSample, Explanation, MemoryReport, Stats
from drapps.torch import generators, resident, stock_arguments
from drapps.torch.base import IteratedLoader, T_co
from drapps.torch.destination import device_of
from drapps.torch.iterator import LiftedIterator
from drapps.torch.lifting import recipe_of
from drapps.torch.native import KIND, Native, Pass
from drapps.torch.native_order import rank_of
from drapps.torch.progress import Progress
from drapps.torch.python_iterators import in_process_iterator, worker_iterator
from drapps.torch.python_order import PythonOrder
from drapps.torch.python_state import KIND as PYTHON_KIND
from drapps.torch.python_state import check
from drapps.torch.recognise import NotLifted
from drapps.torch.report import LiftReport
from drapps.torch.seeding import base_seed_of
from drapps.torch.starting import in_threads
from drapps.torch.text.lifted import text_of
from drapps.torch.worker_iterator import WorkerIterator
from drapps.torch.worker_look import worker_look
from drapps.worker.process_knob import ProcessKnob

DEATHS = ("raise", "restart")
Observed = TypeVar("Observed", LiftedIterator, WorkerIterator)


class DataLoader(IteratedLoader[T_co]):
    """A ``torch.utils.data.DataLoader`` that reads, decodes and augments image folders natively.

    Use it in the place of the stock class; everything behaves as there. A torchvision image folder
    with known transforms yields the same distributions and the same arithmetic on pixels, with
    other random numbers. Anything else runs unmodified: in the caller's process where
    `num_workers` is 0, exactly as stock, or in worker processes whose number may change.
    `lifted` says which it is, and why.

    Args (besides those of the stock class, and keyword-only):
        policy: who moves the knobs: ``initial`` (nobody, once it has begun), ``trials`` (the number
            of worker processes), ``hill_climb`` or ``auto``; the default is ``trials`` for Python
            code in worker processes and ``initial`` for native code.
        cpu_budget: the most cores to use; those that this process may use where absent.
        ram_budget: the most bytes that the native path may own, batches that you hold apart: a
            number, or a size such as ``"2GiB"`` or ``"500MB"``.
        on_error: what a bad picture does: ``raise`` a `drapps.SampleError` (the next batch goes
            on), ``skip`` its row, or ``replace`` it by another sample.
        seed: fixes the order of `shuffle` and all that samples draw, for each epoch, unless
            `torch_order`; otherwise ``iter()`` draws one as stock, from `generator` or globally.
        cache: what the native path keeps of the files from epoch to epoch: ``auto``, ``off``, or a
            budget in bytes, written as `ram_budget`; `form` says in which form: see "What the cache
            keeps". Of Python code ``off`` alone is heeded: what decoding learns is not kept.
        settings: what `export_settings` gave: start from these.
        bad_samples_file: gets a line of JSON per bad picture, behind what it has.
        ledger_file: deprecated, the old name of `bad_samples_file`.
        lift: False runs everything as Python code.
        torch_order: draw the numbers that the stock loader draws, in its order, for Python code in
            workers too: a virtual worker is then serial, and nothing random is lifted.
        on_worker_death: what the end of a worker process does: ``raise`` a `WorkerDiedError`, or
            ``restart`` it and make what was lost again, with the same output.
        stall_report: seconds without a batch after which the stacks of all workers are logged.
        share_lists: lists of more than 64 MiB among the dataset's attributes become a
            `drapps.worker.lists.SharedList` when workers first start, so that they are not copied
            into each; ``explain()["plan"]["shared_lists"]`` names them.
        accelerate: JPEG files that a Python dataset opens with Pillow or OpenCV are decoded
            natively, byte for byte the same, in worker processes; True: also on worker threads and
            in this process, while they make samples; False: nowhere.
        device: batches arrive on it, copied ahead from pinned memory: ``"cuda"``, ``"cuda:1"``.
        device_memory: the most bytes of `device` that a dataset in memory and its batches may take:
            a number, or a size such as ``"2GiB"``. The arrays are copied there when the first pass
            begins, and batches are made there. 0 leaves them where they are.
        placement: where the native path decodes JPEGs of which an earlier epoch has learned the
            index: ``cpu``; ``gpu`` offers all of them to `device`, or to the current GPU where that
            is absent; ``auto`` as many as make the epoch shorter, and none where no GPU can be
            used. The bytes are the same.

    ``num_workers`` is the number of *virtual* workers: ids, seeds and `get_worker_info` stay as
    they are while the number of processes behind them changes; ``"auto"`` leaves it to the loader.
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int | str = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        policy: Policy | None = None,
        cpu_budget: float | None = None,
        ram_budget: Bytes | None = None,
        on_error: str = "raise",
        seed: int | None = None,
        lift: bool = True,
        torch_order: bool = False,
        on_worker_death: str = "raise",
        stall_report: float = 60.0,
        share_lists: bool = True,
        accelerate: bool | None = None,
        device: torch.device | str | int | None = None,
        device_memory: Bytes = 0,
        placement: Placement = "cpu",
        settings: Mapping[str, Any] | None = None,
        cache: Literal["auto", "off"] | Bytes = "auto",
        form: str = "auto",
        bad_samples_file: str | os.PathLike[str] | None = None,
        ledger_file: str | os.PathLike[str] | None = None,
    ) -> None:
        # A property, and yet among the attributes that trainers make a loader again with.
        self.__dict__["policy"] = policy
        given = cpu_budget is not None
        self.cpu_budget = arguments.cores("cpu_budget", cpu_budget) if given else None
        self.ram_budget = ram_budget
        self.cache, self.form = cache, form
        self.on_error = arguments.one_of("on_error", on_error, ("raise", "skip", "replace"))
        self.seed = seed if seed is None else arguments.seed("seed", seed)
        self.lift = arguments.flag("lift", lift)
        self.torch_order = arguments.flag("torch_order", torch_order)
        self.on_worker_death = arguments.one_of("on_worker_death", on_worker_death, DEATHS)
        self.stall_report = arguments.seconds("stall_report", stall_report)
        self.share_lists = arguments.flag("share_lists", share_lists)
        given = accelerate is not None
        self.accelerate = arguments.flag("accelerate", accelerate) if given else None
        self.device, self._device = device, None if device is None else device_of(device)
        self.settings = settings
        self.device_memory = device_memory
        self._device_bytes = self._checked_device_memory()
        self.placement = arguments.one_of("placement", placement, PLACEMENTS)
        self._options()
        self.bad_samples_file = old_keyword(
            "ledger_file", ledger_file, "bad_samples_file", bad_samples_file
        )
        self.ledger_file = None  # so that a loader made again of the attributes has one of the two
        self._bad_samples_file = file_at(self.bad_samples_file)
        self._given_prefetch = prefetch_factor is not None
        self._auto_workers = isinstance(num_workers, str)
        workers = stock_arguments.workers_of(num_workers)
        stock_arguments.check_stock_arguments(
            workers=workers,
            prefetch_factor=prefetch_factor,
            timeout=timeout,
            sampler=sampler,
            batch_sampler=batch_sampler,
            collate_fn=collate_fn,
            worker_init_fn=worker_init_fn,
        )
        self._epochs = Epochs()
        self._epoch_given = False
        self._resumed: Mapping[str, Any] | None = None
        self._latest: Pass | Progress | None = None
        self._native: Native | None = None
        self._lasting: Native | LiftReport | None = None  # what a persistent iterator runs on
        self._latest_workers: weakref.ref[WorkerIterator] | None = None
        self._knob: ProcessKnob | None = None
        self._recording: Recording | None = None
        self._observer: Observer | None = None
        self._limit: tuple[int, _core.BudgetLimit] | None = None  # and the process that made it
        self._acceleration = Acceleration()
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )

    def lifted(self) -> LiftReport:
        """Whether the native path runs, what of the loader it took over, and what not and why."""
        native = self._prepared()
        if not isinstance(native, LiftReport):
            return native.recipe.report
        return replace(native, pictures=self._acceleration.described())

    def _prepared(self) -> Native | LiftReport:
        """The native loader for the dataset and transforms as they are now, or why none.

        Persistent workers keep the dataset that they were started with.
        """
        if self._iterator is not None and self._lasting is not None:
            return self._lasting
        options = self._options()
        if self._device is not None and self._device_bytes > 0:
            name = resident.core_name(self._device)
            options |= {"device": name, "device_memory": self._device_bytes}
        options |= self._placed()
        try:
            if not self.lift:
                raise NotLifted("lift=False")
            recipe = recipe_of(self, self.on_error)
            if self._native is not None and self._native.serves(recipe):
                self._native.recipe = recipe
            else:
                self._native = Native(recipe, options, self._native)
            return self._native
        except NotLifted as verdict:
            if self._device_bytes > 0:
                raise PipelineError(
                    f"device_memory={self.device_memory!r} is for arrays that are lifted, and this "
                    f"loader runs Python code because {verdict}; leave it out"
                ) from None
            if self.placement == "gpu":
                raise PipelineError(
                    'placement="gpu" is for what is lifted, and this loader runs Python code '
                    f"because {verdict}; leave it out"
                ) from None
            self._text, report = text_of(self, self._text, verdict)
            return report

    def _options(self) -> dict[str, Any]:
        budgets = (self.cpu_budget, self.ram_budget)
        return loader_options(self.policy, *budgets, self.settings, self.cache, self.form)

    def _placed(self) -> dict[str, Any]:
        """Where samples are decoded.

        Raises:
            PipelineError: they are to be on a GPU, and there is none.
        """
        if self.placement == "cpu":
            return {}
        try:
            name = resident.core_name(self._device or torch.device("cuda"))
        except PipelineError:
            if self.placement == "gpu":
                raise
            name = None  # none can be used, which the core finds, too
        return placement_options(self.placement, name)

    def _checked_device_memory(self) -> int:
        if type(self.device_memory) is int and self.device_memory == 0:
            return 0
        given = arguments.byte_count("device_memory", self.device_memory)
        if self._device is None:
            raise PipelineError(
                f"device_memory={self.device_memory!r} is of no device: name it by device="
            )
        return given

    def _get_iterator(self) -> _BaseDataLoaderIter:
        stock_arguments.check_can_iterate(self)
        native = self._prepared()
        self._lasting = native if self.persistent_workers else None
        self._look_after_recording(native)
        if not isinstance(native, LiftReport):
            lifted = LiftedIterator(self, native)
            return self._observed(lifted, native_look(native.core, self.policy))
        if self.num_workers == 0:
            return in_process_iterator(self)
        iterator = worker_iterator(self)
        self._latest_workers = weakref.ref(iterator)
        knob, pictures = self._process_knob(), self._acceleration
        return self._observed(iterator, worker_look(iterator, knob, native.reasons, pictures))

    def _observed(self, iterator: Observed, look: Look) -> Observed:
        observer = observed(self._observer, KIND, type(self.dataset).__name__, look)
        self._observer = iterator.observer = observer
        return iterator

    def _begin_pass(self, base_seed: int, since: int = 0) -> Progress:
        """A new pass over Python code, or the rest of the one whose state was loaded.

        Args:
            base_seed: that was drawn.
            since: passes that had it before this one.
        """
        epoch, _ = self._epochs.take()
        resumed, begun = self._take_resumed(epoch)
        key_epoch = self._key_epoch(epoch, since, begun)
        order = PythonOrder.of(self, begun or None, key_epoch)
        rank = rank_of(order.sampler)
        if order.seed is not None and since == 0:
            base_seed = base_seed_of(order.seed, rank, key_epoch)
        seed, drawn = begun.get("seed", base_seed), self._generators(begun)
        self._latest = Progress(order, epoch, seed, key_epoch, rank, resumed, drawn)
        return self._latest

    def _begin(self, base_seed: int, native: Native | None = None, since: int = 0) -> Pass:
        """The same of a native pass; the user's sampler is iterated when it begins."""
        native = native or self._required()
        epoch, start = self._epochs.take()
        _, begun = self._take_resumed(epoch)
        self._latest = Pass(
            native,
            epoch,
            start,
            begun.get("seed", base_seed if self.seed is None else self.seed),
            self._key_epoch(epoch, since, begun),
            begun or None,
            self._generators(begun),
            self._bad_samples_file,
        )
        return self._latest

    def _take_resumed(self, epoch: int) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
        """The state that was loaded, unless another epoch was set; again, if its pass had begun."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None and resumed["epoch"] != epoch:
            resumed = None
        return resumed, resumed if resumed is not None and "seed" in resumed else {}

    def _key_epoch(self, epoch: int, since: int, begun: Mapping[str, Any]) -> int:
        """What stands beside the seed in the key of a pass.

        A seed that was drawn for this pass alone needs nothing beside it, so that a script that
        seeds torch for each epoch gets the same pass wherever it was started. A seed that passes
        share takes the epoch's number: one that was given, or that persistent workers keep.
        """
        if begun:
            return int(begun.get("key_epoch", epoch))  # the epoch, in states of the first format
        return epoch if self.seed is not None or self._epoch_given else since

    def _generators(self, begun: Mapping[str, Any]) -> generators.States:
        """Those of the user's now that a pass has drawn its seed, or as they were when it had."""
        generators.restore(self, begun)
        return generators.states_of(self)

    def _required(self) -> Native:
        native = self._prepared()
        if isinstance(native, LiftReport):
            raise PipelineError(
                f"this loader runs Python code because {native.why_python}: it has no native state"
            )
        return native

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` takes this epoch number; a sampler with ``set_epoch`` is told."""
        self._epochs.pin(epoch)
        self._epoch_given = True
        self._tell_sampler(epoch)

    def _tell_sampler(self, epoch: int) -> None:
        tell = method_of(PythonOrder.of(self).sampler, "set_epoch")
        if tell is not None:
            tell(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator is; it counts the batches it yielded.

        At the end of an epoch it is the beginning of the next one. It is JSON-able, but for the
        states of a user's own stateful dataset or sampler, which stand in it as they are. The order
        of a user's sampler belongs to the user: on resuming it must give the same order again,
        which is checked. A ``DistributedSampler`` may then have another number of ranks. An
        iterable dataset goes on by its own state, or is run again up to the place.
        """
        latest = self._latest
        if latest is not None and not latest.over:
            return latest.state_dict()
        if self._resumed is not None:
            return dict(self._resumed)
        epoch, _ = self._epochs.upcoming
        native = self._prepared()
        if isinstance(native, LiftReport):
            saved = state.make(PYTHON_KIND, epoch, 0, PythonOrder.of(self).identity)
            saved["batches"] = 0
        else:
            saved = state.make(KIND, epoch, 0, native.identity())
        if latest is not None and self.persistent_workers:
            saved |= latest.lasting()
        with latest.at_its_end() if isinstance(latest, Pass) else contextlib.nullcontext():
            return saved | generators.fields(generators.states_of(self))

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made, with its seed.

        Raises:
            StateError: the state is none of such a loader, or damaged.
        """
        native = self._prepared()
        if isinstance(native, LiftReport):
            if isinstance(state_dict, Mapping) and state_dict.get("kind") == KIND:
                raise StateError(
                    "the state was saved while the loader ran natively, and this one runs Python "
                    f"code because {native.why_python}"
                )
            saved = state_dict if isinstance(state_dict, Mapping) else None
            epoch, position = check(state_dict, PythonOrder.of(self, saved))
        else:
            epoch, position = state.check(state_dict, KIND, native.identity())
        if position > 0 or "seed" in state_dict:
            state.typed(state_dict, "seed", int)
        if "key_epoch" in state_dict:
            state.whole(state_dict, "key_epoch")
        if "sampler_epoch" in state_dict:
            state.whole(state_dict, "sampler_epoch")
        generators.check(state_dict)
        if "seed" not in state_dict:  # the pass has not begun, which will draw from them
            generators.restore(self, state_dict)
        self._epochs.resume(epoch, position)
        self._resumed = dict(state_dict)
        self._latest = None
        self._iterator = None  # persistent workers belong to the pass that was left
        if "sampler_epoch" in state_dict:
            self._tell_sampler(state_dict["sampler_epoch"])

    def explain(self) -> Explanation:
        """As `drapps.Loader.explain`: what runs and why."""
        native = self._prepared()
        self._look_after_recording(native)
        if isinstance(native, LiftReport):
            iterator = self._latest_workers() if self._latest_workers is not None else None
            latest = self._latest.plan if isinstance(self._latest, Progress) else {}
            of_pass = latest if iterator is None else iterator.plan()
            pictures = self._acceleration.counts()
            of_pass = {**of_pass, "pictures": pictures} if pictures else of_pass
            kept = self._acceleration.forms()
            return self._process_knob().explain(native.reasons, of_pass, kept)
        return Explanation.of_native(native.core.explain(), choice(self.policy, "threads"))

    def stats(self) -> Stats:
        """As `drapps.Loader.stats`: all that was counted since the loader was made."""
        native = self._prepared()
        if not isinstance(native, LiftReport):
            return Stats.of_core(native.core.stats())
        iterator = self._latest_workers() if self._latest_workers is not None else None
        slowest = [] if iterator is None else iterator.slowest()
        return self._process_knob().stats(slowest)

    @property
    def policy(self) -> Policy | None:
        """Who moves the knobs; ``None`` is the default of what runs.

        Another one may be set at any time, also while a pass runs. It knows nothing of what the one
        before it learnt; the knobs stay where they stand.

        Raises:
            PipelineError: an unknown policy, which leaves the old one at work.
        """
        policy: Policy | None = self.__dict__["policy"]
        return policy

    @policy.setter
    def policy(self, policy: Policy | None) -> None:
        text = to_json(policy)
        for native in {n for n in (self._native, self._lasting) if isinstance(n, Native)}:
            native.core.set_policy(text)
        if self._knob is not None:
            self._knob.set_policy(policy)
        self.__dict__["policy"] = policy

    def set_batch_size(self, size: int) -> None:
        """Batches have `size` samples from the next ``iter()`` on; a pass under way goes on.

        Raises:
            PipelineError: no such size, a `batch_sampler` or ``batch_size=None``, or persistent
                workers that have begun.
        """
        size = arguments.whole("size", size, 1)
        stock_arguments.check_can_set_batch_size(self)
        sampler = BatchSampler(self.sampler, size, self.drop_last)
        self.__dict__ |= {"batch_size": size, "batch_sampler": sampler}

    def freeze(self, frozen: bool = True) -> None:
        """Stops the control plane: no knob moves until ``freeze(False)``."""
        native, frozen = self._prepared(), arguments.flag("frozen", frozen)
        who = self._process_knob() if isinstance(native, LiftReport) else native.core
        who.freeze(frozen)

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """As `drapps.Loader.record`: every decision into a new file.

        A lifted loader whose dataset or transforms change is made anew at the next ``iter()``,
        which ends the recording with a ``RuntimeWarning``.

        Raises:
            PipelineError: as there; and Python code without workers, about which nothing decides.
            OSError: the file cannot be made.
        """
        native = self._prepared()
        if not isinstance(native, LiftReport):
            self._recording = record_native(native.core, path)
        elif self.num_workers == 0:
            raise PipelineError(
                f"this loader runs Python code in this process because {native.why_python}: "
                "nothing decides about it; give it workers, or record one that runs natively"
            )
        else:
            self._recording = self._process_knob().record(path, self.explain().plan.to_json())
        return self._recording

    def _look_after_recording(self, native: Native | LiftReport) -> None:
        if self._recording is not None:
            core = self._process_knob().control if isinstance(native, LiftReport) else native.core
            look_after(self._recording, core)

    def export_settings(self) -> dict[str, Any]:
        """The knobs as they stand; `settings` of another loader starts from them.

        Raises:
            PipelineError: the loader runs Python code, and no worker process has started yet.
        """
        native = self._prepared()
        if isinstance(native, LiftReport):
            return self._process_knob().settings()
        settings: dict[str, Any] = json.loads(native.core.settings())
        return settings

    def _process_knob(self) -> ProcessKnob:
        """The number of worker processes, for Python code."""
        if self._knob is None:
            self._knob = ProcessKnob.from_settings(self.policy, self.settings)
        return self._knob

    def _limited(self) -> _core.BudgetLimit:
        """The budget of cores in this process, which holds as long as the loader lives."""
        if self._limit is None or self._limit[0] != os.getpid():
            self._limit = (os.getpid(), _core.limit_cpus(self.cpu_budget))
        return self._limit[1]

    def _accelerated(self) -> Acceleration | None:
        """What makes the pictures of Python code natively, counted as long as it lives."""
        here = self.num_workers == 0 or in_threads(self)
        if not (not here if self.accelerate is None else self.accelerate):
            return None
        self._acceleration.keep(None if self.cache == "off" else self.dataset)
        return self._acceleration

    def memory(self) -> MemoryReport:
        """As `drapps.Loader.memory`: of this process, all its loaders together."""
        return MemoryReport.from_json(_core.memory())

    def bad_samples(self) -> list[BadSample]:
        """The bad pictures that the latest iterator met; empty for Python code."""
        return self._latest.bad_samples() if isinstance(self._latest, Pass) else []

    ledger = old_method("ledger", "bad_samples")

    def __getstate__(self) -> dict[str, Any]:
        # Native parts stay here; a copy makes its own at first use.
        own = {
            "_native": None,
            "_text": None,
            "_lasting": None,
            "_latest": None,
            "_latest_workers": None,
            "_knob": copy.deepcopy(self._knob),
            "_recording": None,
            "_observer": None,
            "_iterator": None,
            "_limit": None,
            "_acceleration": Acceleration(),
            "_epochs": copy.copy(self._epochs),
        }
        return {**self.__dict__, **own}
