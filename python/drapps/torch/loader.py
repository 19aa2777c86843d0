"""``drapps.torch.DataLoader``: torch's, lifted to the native path where that is certain.

Over 500 lines: it has every member of torch's loader and of `drapps.Loader`, with what each
argument means.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import torch
from torch.utils.data import BatchSampler, Dataset, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps import _core, arguments
from drapps.accelerate.acceleration import Acceleration
from drapps.arguments import Bytes
from drapps.bad_samples import file_at
from drapps.deprecation import old_keyword, old_method
from drapps.errors import PipelineError
from drapps.monitor.observing import Observer
from drapps.monitor.offering import observed
from drapps.placement import PLACEMENTS, Placement
from drapps.policy import Makers, Policy, learning, to_json
from drapps.recording import Recording, look_after
from drapps.report import BadSample, Explanation, MemoryReport, Stats
from drapps.torch import native_options, stock_arguments
from drapps.torch.base import IteratedLoader, T_co
from drapps.torch.destination import device_of
from drapps.torch.execution import Execution, NativeExecution, PythonExecution
from drapps.torch.lifting import recipe_of
from drapps.torch.native import KIND, Native, Pass
from drapps.torch.passes import Passes
from drapps.torch.progress import Progress
from drapps.torch.python_resources import PythonResources
from drapps.torch.recognise import NotLifted
from drapps.torch.report import LiftReport
from drapps.torch.starting import in_threads
from drapps.torch.text.lifted import text_of
from drapps.worker.process_knob import ProcessKnob

DEATHS = ("raise", "restart")


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
        learn: a learned policy goes on learning while it runs, under a judge, with at most 1 % of a
            core; what the judge upholds is kept in the user's cache folder.
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
        learn: bool = False,
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
        self.learn = arguments.flag("learn", learn)
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
        self._device_bytes = native_options.checked_device_memory(self)
        self.placement = arguments.one_of("placement", placement, PLACEMENTS)
        native_options.checked_options(self)
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
        self._passes = Passes()
        self._native: Native | None = None
        self._lasting: Execution | None = None  # what a persistent iterator runs on
        self._python = PythonResources()
        self._recording: Recording | None = None
        self._observer: Observer | None = None
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
        return self._execution().report

    def _execution(self) -> Execution:
        """What the dataset and the transforms as they are now run on.

        Persistent workers keep the dataset that they were started with.
        """
        if self._iterator is not None and self._lasting is not None:
            return self._lasting
        options = native_options.native_options(self)
        try:
            if not self.lift:
                raise NotLifted("lift=False")
            recipe = recipe_of(self, self.on_error)
            if self._native is not None and self._native.serves(recipe):
                self._native.recipe = recipe
            else:
                self._native = Native(recipe, options, self._native)
            return NativeExecution(self, self._native)
        except NotLifted as verdict:
            native_options.check_without_native(self, verdict)
            self._text, report = text_of(self, self._text, verdict)
            return PythonExecution(self, report, self._python)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        stock_arguments.check_can_iterate(self)
        execution = self._execution()
        self._lasting = execution if self.persistent_workers else None
        self._look_after_recording(execution)
        iterator: Any
        iterator, look = execution.iterate()
        if look is not None:
            self._observer = observed(self._observer, KIND, type(self.dataset).__name__, look)
            iterator.observer = self._observer
        begun: _BaseDataLoaderIter = iterator
        return begun

    def _begin_pass(self, base_seed: int, since: int = 0) -> Progress:
        return self._passes.begin_python(self, base_seed, since)

    def _begin(self, base_seed: int, native: Native | None = None, since: int = 0) -> Pass:
        native = native or self._required()
        return self._passes.begin_native(self, native, base_seed, since, self._bad_samples_file)

    def _required(self) -> Native:
        execution = self._execution()
        if execution.native is None:
            raise PipelineError(
                f"this loader runs Python code because {execution.report.why_python}: it has no "
                "native state"
            )
        return execution.native

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` takes this epoch number; a sampler with ``set_epoch`` is told."""
        self._passes.set_epoch(self, epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator is; it counts the batches it yielded.

        At the end of an epoch it is the beginning of the next one. It is JSON-able, but for the
        states of a user's own stateful dataset or sampler, which stand in it as they are. The order
        of a user's sampler belongs to the user: on resuming it must give the same order again,
        which is checked. A ``DistributedSampler`` may then have another number of ranks. An
        iterable dataset goes on by its own state, or is run again up to the place.
        """
        return self._passes.state_dict(self)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made, with its seed.

        Raises:
            StateError: the state is none of such a loader, or damaged.
        """
        self._passes.load_state_dict(self, self._execution(), state_dict)

    def explain(self) -> Explanation:
        """As `drapps.Loader.explain`: what runs and why."""
        execution = self._execution()
        self._look_after_recording(execution)
        return execution.explain()

    def _look_after_recording(self, execution: Execution) -> None:
        if self._recording is not None:
            look_after(self._recording, execution.control)

    def stats(self) -> Stats:
        """As `drapps.Loader.stats`: all that was counted since the loader was made."""
        return self._execution().stats()

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
        text = to_json(self._deciding("threads", policy))
        lasting = None if self._lasting is None else self._lasting.native
        for native in {self._native, lasting}:
            if native is not None:
                native.core.set_policy(text)
        self._python.set_policy(self._deciding("processes", policy))
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
        execution = self._execution()
        execution.freeze(arguments.flag("frozen", frozen))

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """As `drapps.Loader.record`: every decision into a new file.

        A lifted loader whose dataset or transforms change is made anew at the next ``iter()``,
        which ends the recording with a ``RuntimeWarning``.

        Raises:
            PipelineError: as there; and Python code without workers, about which nothing decides.
            OSError: the file cannot be made.
        """
        self._recording = self._execution().record(path)
        return self._recording

    def export_settings(self) -> dict[str, Any]:
        """The knobs as they stand; `settings` of another loader starts from them.

        Raises:
            PipelineError: the loader runs Python code, and no worker process has started yet.
        """
        return self._execution().settings()

    def _process_knob(self) -> ProcessKnob:
        return self._python.knob(self._deciding("processes", self.policy), self.settings)

    def _deciding(self, makers: Makers, policy: Policy | None) -> Policy | None:
        """The policy as what runs is to have it."""
        if not self.learn:
            return policy
        # Options are checked before the stock class has its own.
        what = [getattr(self, name, None) for name in ("dataset", "batch_size", "collate_fn")]
        names = [type(what[0]).__qualname__, what[1], getattr(what[2], "__qualname__", "")]
        return learning(policy, makers, f"{makers} {names}")

    def _limited(self) -> _core.BudgetLimit:
        return self._python.limit(self.cpu_budget)

    def _accelerated(self) -> Acceleration | None:
        here = self.num_workers == 0 or in_threads(self)
        if not (not here if self.accelerate is None else self.accelerate):
            return None
        self._python.acceleration.keep(None if self.cache == "off" else self.dataset)
        return self._python.acceleration

    def memory(self) -> MemoryReport:
        """As `drapps.Loader.memory`: of this process, all its loaders together."""
        return MemoryReport.from_json(_core.memory())

    def bad_samples(self) -> list[BadSample]:
        """The bad pictures that the latest iterator met; empty for Python code."""
        return self._passes.bad_samples()

    ledger = old_method("ledger", "bad_samples")

    def __getstate__(self) -> dict[str, Any]:
        # Native parts stay here; a copy makes its own at first use.
        own = {
            "_native": None,
            "_text": None,
            "_lasting": None,
            "_passes": copy.copy(self._passes),
            "_python": copy.copy(self._python),
            "_recording": None,
            "_observer": None,
            "_iterator": None,
        }
        return {**self.__dict__, **own}
