"""What a loader of torch's is asked beside its batches: states, reports, and its control plane."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps import _core, arguments
from drapps.accelerate.acceleration import Acceleration
from drapps.bad_samples import file_at
from drapps.deprecation import old_method
from drapps.errors import PipelineError
from drapps.monitor.observing import Observer
from drapps.monitor.offering import observed
from drapps.policy import Makers, Policy, learning, to_json
from drapps.recording import Recording, look_after
from drapps.report import BadSample, Explanation, MemoryReport, Stats
from drapps.torch import native_resources, stock_arguments
from drapps.torch.base import IteratedLoader, T_co
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


class ControlledLoader(IteratedLoader[T_co]):
    """All of `drapps.torch.DataLoader` but its arguments."""

    learn: bool
    on_error: str
    lift: bool
    accelerate: bool | None
    cache: Any
    settings: Mapping[str, Any] | None
    bad_samples_file: str | os.PathLike[str] | None

    def _begin_life(self) -> None:
        """Nothing is made before it is needed."""
        self._bad_samples_file = file_at(self.bad_samples_file)
        self._passes = Passes()
        self._native: Native | None = None
        self._lasting: Execution | None = None  # what a persistent iterator runs on
        self._python = PythonResources()
        self._recording: Recording | None = None
        self._observer: Observer | None = None

    def lifted(self) -> LiftReport:
        """Whether the native path runs, what of the loader it took over, and what not and why."""
        return self._execution().report

    def _execution(self) -> Execution:
        """What the dataset and the transforms as they are now run on.

        Persistent workers keep the dataset that they were started with.
        """
        if self._iterator is not None and self._lasting is not None:
            return self._lasting
        resources = native_resources.resources_of(self)
        try:
            if not self.lift:
                raise NotLifted("lift=False")
            recipe = recipe_of(self, self.on_error)
            if self._native is not None and self._native.serves(recipe):
                self._native.recipe = recipe
            else:
                self._native = Native(recipe, resources, self._native)
            return NativeExecution(self, self._native)
        except NotLifted as verdict:
            native_resources.check_without_native(resources, verdict)
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
        self._look_after_recording(self._lasting)
        return self._passes.begin_python(self, base_seed, since)

    def _begin(self, base_seed: int, native: Native | None = None, since: int = 0) -> Pass:
        self._look_after_recording(self._lasting)
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

    def _look_after_recording(self, execution: Execution | None) -> None:
        if self._recording is not None and execution is not None:
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
            PipelineError: as `drapps.Loader.record`; and Python code without workers, about which
                nothing decides.
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
