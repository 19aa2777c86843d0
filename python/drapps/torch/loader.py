"""``drapps.torch.DataLoader``: torch's, lifted to the native path where that is certain.

Here are its arguments; `drapps.torch.controlled` has the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import torch
from torch.utils.data import Dataset, Sampler

from drapps import arguments
from drapps.arguments import Bytes
from drapps.deprecation import old_keyword
from drapps.placement import Placement
from drapps.policy import Policy
from drapps.torch import native_resources, stock_arguments
from drapps.torch.base import T_co
from drapps.torch.controlled import ControlledLoader
from drapps.torch.destination import device_of

DEATHS = ("raise", "restart")


class DataLoader(ControlledLoader[T_co]):
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
        accelerate: JPEG files that a Python dataset reads with Pillow and its like are decoded
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
        self.cpu_budget, self.ram_budget = cpu_budget, ram_budget
        self.settings, self.cache, self.form = settings, cache, form
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
        self.device_memory, self.placement = device_memory, placement
        self.cpu_budget = native_resources.checked(self).cpu_budget
        self.bad_samples_file = old_keyword(
            "ledger_file", ledger_file, "bad_samples_file", bad_samples_file
        )
        self.ledger_file = None  # so that a loader made again of the attributes has one of the two
        self._given_prefetch = prefetch_factor is not None
        workers, self._auto_workers = stock_arguments.workers_of(num_workers)
        stock_arguments.check_stock_arguments(
            workers=workers,
            prefetch_factor=prefetch_factor,
            timeout=timeout,
            sampler=sampler,
            batch_sampler=batch_sampler,
            collate_fn=collate_fn,
            worker_init_fn=worker_init_fn,
        )
        self._begin_life()
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
