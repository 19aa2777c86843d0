"""What the passes of a loader run on, which answers about them: the native path, or Python code."""

from __future__ import annotations

import json
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drapps import _core, state
from drapps.errors import PipelineError, StateError
from drapps.monitor.offering import Look, native_look
from drapps.policy import choice
from drapps.recording import Recording, record_native
from drapps.report import Explanation, Stats
from drapps.torch.iterator import LiftedIterator
from drapps.torch.native import KIND, Native
from drapps.torch.python_iterators import in_process_iterator, worker_iterator
from drapps.torch.python_order import PythonOrder
from drapps.torch.python_resources import PythonResources
from drapps.torch.python_state import KIND as PYTHON_KIND
from drapps.torch.python_state import check
from drapps.torch.report import LiftReport
from drapps.torch.worker_iterator import WorkerIterator
from drapps.torch.worker_look import worker_look
from drapps.worker.process_knob import ProcessKnob


class Execution(ABC):
    """What a loader as it is now runs on; persistent workers keep theirs.

    Attributes:
        native: the native loader; None where Python code runs.
    """

    native: Native | None = None

    def __init__(self, loader: Any) -> None:
        self._of = weakref.ref(loader)  # it may keep this object, and is to go with its last user

    @property
    def _loader(self) -> Any:
        return self._of()

    @property
    @abstractmethod
    def report(self) -> LiftReport:
        """What `lifted` says."""

    @property
    @abstractmethod
    def control(self) -> _core.Loader | _core.ProcessControl:
        """The control plane's side of the passes."""

    @abstractmethod
    def iterate(self) -> tuple[Any, Look | None]:
        """The iterator of a pass that begins, and how another thread looks at it, where it can."""

    @abstractmethod
    def first_state(self, epoch: int) -> dict[str, Any]:
        """The state at the beginning of an epoch."""

    @abstractmethod
    def check(self, state_dict: Any) -> tuple[int, int]:
        """Epoch and position of a state; StateError where it is none of such a loader."""

    @abstractmethod
    def explain(self) -> Explanation:
        """What runs and why."""

    @abstractmethod
    def stats(self) -> Stats:
        """All that was counted."""

    @abstractmethod
    def record(self, path: str | os.PathLike[str]) -> Recording:
        """Every decision into a new file."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The knobs as they stand."""

    def freeze(self, frozen: bool) -> None:
        """Whether no knob moves."""
        self.control.freeze(frozen)


class NativeExecution(Execution):
    """Passes by the core's own loader."""

    native: Native

    def __init__(self, loader: Any, native: Native) -> None:
        super().__init__(loader)
        self.native = native

    @property
    def report(self) -> LiftReport:
        """What the recipe says."""
        return self.native.recipe.report

    @property
    def control(self) -> _core.Loader:
        """The core's loader."""
        return self.native.core

    def iterate(self) -> tuple[Any, Look | None]:
        """A native pass."""
        return LiftedIterator(self._loader, self.native), native_look(
            self.native.core, self._loader.policy
        )

    def first_state(self, epoch: int) -> dict[str, Any]:
        """The state at the beginning of an epoch, with the native loader's identity."""
        return state.make(KIND, epoch, 0, self.native.identity())

    def check(self, state_dict: Any) -> tuple[int, int]:
        """Epoch and position of a state, checked by the native loader's identity."""
        return state.check(state_dict, KIND, self.native.identity())

    def explain(self) -> Explanation:
        """What runs and why, as the core says."""
        return Explanation.of_native(
            self.native.core.explain(), choice(self._loader.policy, "threads")
        )

    def stats(self) -> Stats:
        """All that the core has counted."""
        return Stats.of_core(self.native.core.stats())

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """As `drapps.Loader.record`."""
        return record_native(self.native.core, path)

    def settings(self) -> dict[str, Any]:
        """The knobs as the core has them."""
        settings: dict[str, Any] = json.loads(self.native.core.settings())
        return settings


class PythonExecution(Execution):
    """Passes by the user's Python code, in this process, in threads or in worker processes."""

    def __init__(self, loader: Any, report: LiftReport, resources: PythonResources) -> None:
        super().__init__(loader)
        self._report = report
        self._resources = resources

    @property
    def _knob(self) -> ProcessKnob:
        knob: ProcessKnob = self._loader._process_knob()  # which is made by who asks first
        return knob

    @property
    def report(self) -> LiftReport:
        """What `lifted` says, with the pictures that were decoded so far."""
        return replace(self._report, pictures=self._resources.acceleration.described())

    @property
    def control(self) -> _core.ProcessControl:
        """The control plane of the worker processes."""
        return self._knob.control

    def iterate(self) -> tuple[Any, Look | None]:
        """A pass in this process, or over workers."""
        if self._loader.num_workers == 0:
            return in_process_iterator(self._loader), None
        iterator: WorkerIterator = worker_iterator(self._loader)
        self._resources.follow(iterator)
        knob, pictures = self._knob, self._resources.acceleration
        return iterator, worker_look(iterator, knob, self._report.reasons, pictures)

    def first_state(self, epoch: int) -> dict[str, Any]:
        """The state at the beginning of an epoch, with what the order is made of."""
        saved = state.make(PYTHON_KIND, epoch, 0, PythonOrder.of(self._loader).identity)
        return {**saved, "batches": 0}

    def check(self, state_dict: Any) -> tuple[int, int]:
        """Epoch and position of a state, checked by what the order is made of."""
        if isinstance(state_dict, Mapping) and state_dict.get("kind") == KIND:
            raise StateError(
                "the state was saved while the loader ran natively, and this one runs Python "
                f"code because {self._report.why_python}"
            )
        saved = state_dict if isinstance(state_dict, Mapping) else None
        return check(state_dict, PythonOrder.of(self._loader, saved))

    def explain(self) -> Explanation:
        """What runs and why, in the pass under way or the latest one."""
        workers = self._resources.workers()
        of_pass = self._loader._passes.plan() if workers is None else workers.plan()
        pictures = self._resources.acceleration.counts()
        of_pass = {**of_pass, "pictures": pictures} if pictures else of_pass
        kept = self._resources.acceleration.forms()
        return self._knob.explain(self._report.reasons, of_pass, kept)

    def stats(self) -> Stats:
        """All that was counted of the worker processes."""
        workers = self._resources.workers()
        return self._knob.stats([] if workers is None else workers.slowest())

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """Records decisions on the worker processes; PipelineError where there are none."""
        if self._loader.num_workers == 0:
            raise PipelineError(
                f"this loader runs Python code in this process because {self._report.why_python}: "
                "nothing decides about it; give it workers, or record one that runs natively"
            )
        return self._knob.record(path, self.explain().plan.to_json())

    def settings(self) -> dict[str, Any]:
        """The knobs of the worker processes; PipelineError where none has started."""
        return self._knob.settings()
