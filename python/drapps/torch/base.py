"""What the iterators of a loader ask of it; `drapps.torch.DataLoader` is what they get."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

import torch.utils.data

if TYPE_CHECKING:
    from drapps import _core
    from drapps.accelerate.acceleration import Acceleration
    from drapps.torch.native import Native, Pass
    from drapps.torch.progress import Progress
    from drapps.torch.text.plan import TextPlan
    from drapps.worker.process_knob import ProcessKnob

T_co = TypeVar("T_co", covariant=True)


class IteratedLoader(torch.utils.data.DataLoader[T_co]):
    """The options beside the stock ones, and what a pass begins with."""

    cpu_budget: float | None
    torch_order: bool
    on_worker_death: str
    stall_report: float
    share_lists: bool
    _device: torch.device | None  # of the batches
    _auto_workers: bool  # ``num_workers="auto"``
    _given_prefetch: bool  # `prefetch_factor` was set
    _text: TextPlan | None = None  # what makes its batches, where it is text that is lifted

    @abstractmethod
    def _begin_pass(self, base_seed: int, since: int = 0) -> Progress:
        """A new pass over Python code."""

    @abstractmethod
    def _begin(self, base_seed: int, native: Native | None = None, since: int = 0) -> Pass:
        """A new native pass."""

    @abstractmethod
    def _process_knob(self) -> ProcessKnob:
        """What is decided about the worker processes."""

    @abstractmethod
    def _accelerated(self) -> Acceleration | None:
        """What makes the pictures of Python code natively; None where nothing does."""

    @abstractmethod
    def _limited(self) -> _core.BudgetLimit:
        """The budget of cores in this process."""
