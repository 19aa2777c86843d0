"""``drapps.torch.DataLoader``: torch's, lifted to the native path where that is certain."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import torch.utils.data
from torch.utils.data import Dataset, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps import ops, state
from drapps.epochs import Epochs
from drapps.errors import PipelineError
from drapps.pipeline import loader_options
from drapps.stream import Stream
from drapps.torch.iterator import LiftedIterator
from drapps.torch.lifting import recipe_of
from drapps.torch.native import KIND, Native, Pass
from drapps.torch.recognise import NotLifted
from drapps.torch.report import LiftReport

T_co = TypeVar("T_co", covariant=True)


class DataLoader(torch.utils.data.DataLoader[T_co]):
    """A ``torch.utils.data.DataLoader`` that reads, decodes and augments image folders natively.

    Use it in the place of the stock class; everything behaves as there. A torchvision image folder
    with known transforms yields the same distributions and the same arithmetic on pixels, with
    other random numbers. Anything else runs through the stock loader's own iterator, unchanged.
    `lifted` says which it is, and why.

    Args (besides those of the stock class, and keyword-only):
        policy: who moves the knobs: ``initial`` (nobody) or ``hill_climb``.
        cpu_budget: the most cores to use; those that this process may use where absent.
        ram_budget: the most bytes that the native path may own, batches that you hold apart.
        on_error: what a bad picture does: ``raise`` a `drapps.SampleError` (the next batch goes
            on), ``skip`` its row, or ``replace`` it by another sample.
        seed: fixes order and augmentation of the native path; otherwise each ``iter()`` draws its
            seed as the stock class does, from `generator` or the global generator.
        lift: False runs everything through the stock iterator.
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
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
        policy: str = "initial",
        cpu_budget: float | None = None,
        ram_budget: int | None = None,
        on_error: str = "raise",
        seed: int | None = None,
        lift: bool = True,
    ) -> None:
        loader_options(policy, cpu_budget, ram_budget, None)
        self.policy = policy
        self.cpu_budget = cpu_budget
        self.ram_budget = ram_budget
        self.on_error = ops.one_of("on_error", on_error, ("raise", "skip", "replace"))
        self.seed = seed if seed is None else ops.whole("seed", seed, 0)
        self.lift = lift
        self._epochs = Epochs()
        self._resumed: Mapping[str, Any] | None = None
        self._latest: Pass | None = None
        self._native: Native | None = None
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
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
        return native if isinstance(native, LiftReport) else native.recipe.report

    def _prepared(self) -> Native | LiftReport:
        """The native loader for the dataset and transforms as they are now, or why none."""
        try:
            if not self.lift:
                raise NotLifted("lift=False")
            recipe = recipe_of(self, self.on_error)
            if self._native is None or not self._native.serves(recipe):
                options = loader_options(self.policy, self.cpu_budget, self.ram_budget, None)
                self._native = Native(recipe, options, self._native)
            return self._native
        except NotLifted as verdict:
            return self._stock_report(str(verdict))

    def _stock_report(self, reason: str) -> LiftReport:
        unused = [
            f"{name} is not used"
            for name, used in (
                ("on_error", self.on_error == "raise"),
                ("seed", self.seed is None),
                ("cpu_budget", self.cpu_budget is None),
                ("ram_budget", self.ram_budget is None),
            )
            if not used
        ]
        return LiftReport(native=False, reasons=(reason,), notes=tuple(unused))

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if isinstance(self._prepared(), LiftReport):
            self._latest = None
            return super()._get_iterator()
        return LiftedIterator(self)

    def _begin(self, base_seed: int) -> Callable[[], Stream]:
        """A new pass, its epoch and seed fixed now; the user's sampler is iterated at the call."""
        native = self._required()
        epoch, start = self._epochs.take()
        seed = base_seed if self.seed is None else self.seed
        resumed, self._resumed = self._resumed, None
        if resumed is not None and start > 0:
            seed = resumed["seed"]
        self._latest = Pass(native, epoch, start, seed, resumed if start > 0 else None)
        return self._latest.begin

    def _required(self) -> Native:
        native = self._prepared()
        if isinstance(native, LiftReport):
            raise PipelineError(
                f"this loader runs through the stock iterator because {native.reasons[0]}: "
                "it has no native state, settings or plan"
            )
        return native

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` takes this epoch number; a sampler with ``set_epoch`` is told."""
        self._epochs.pin(epoch)
        tell = getattr(self.sampler, "set_epoch", None)
        if callable(tell):
            tell(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator is: a JSON-able record that counts the batches it yielded.

        At the end of an epoch it is the beginning of the next one. The order of a user's sampler
        belongs to the user: on resuming it must give the same order again, which is checked.

        Raises:
            PipelineError: the loader is not lifted.
        """
        latest = self._latest
        if latest is not None and not latest.over:
            return latest.record()
        epoch, position = self._epochs.upcoming
        if position > 0 and self._resumed is not None:
            return dict(self._resumed)
        native = self._required() if latest is None else latest.native
        return state.record(KIND, epoch, position, native.identity())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made, with its seed.

        Raises:
            PipelineError: the loader is not lifted, or the record is none of such a loader.
        """
        native = self._required()
        epoch, position = state.check(state_dict, KIND, native.identity())
        if position > 0 and not isinstance(state_dict.get("seed"), int):
            raise PipelineError("the state lacks its seed: it was cut or edited")
        self._epochs.resume(epoch, position)
        self._resumed = dict(state_dict)
        self._latest = None
        tell = getattr(self.sampler, "set_epoch", None)
        if callable(tell) and "sampler_epoch" in state_dict:
            tell(state_dict["sampler_epoch"])

    def explain(self) -> dict[str, Any]:
        """What runs and why: ``plan``, ``forms``, ``decisions``; or why the stock iterator runs."""
        native = self._prepared()
        if isinstance(native, LiftReport):
            plan = {"engine": "stock", "reasons": list(native.reasons)}
            return {"plan": plan, "forms": {}, "decisions": []}
        explanation: dict[str, Any] = json.loads(native.core.explain())
        return explanation

    def freeze(self, frozen: bool = True) -> None:
        """Stops the control plane: no knob moves until ``freeze(False)``."""
        self._required().core.freeze(frozen)

    def export_settings(self) -> dict[str, Any]:
        """The native path's knobs as they stand.

        Raises:
            PipelineError: the loader is not lifted.
        """
        settings: dict[str, Any] = json.loads(self._required().core.settings())
        return settings

    def ledger(self) -> list[dict[str, Any]]:
        """The bad pictures that the latest iterator met; empty for the stock iterator."""
        return [] if self._latest is None else self._latest.ledger()

    def __getstate__(self) -> dict[str, Any]:
        # Native parts stay here; a copy makes its own at first use.
        own = {
            "_native": None,
            "_latest": None,
            "_iterator": None,
            "_epochs": copy.copy(self._epochs),
        }
        return {**self.__dict__, **own}
