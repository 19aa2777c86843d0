"""Whether a loader over text is lifted, and what its report says."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils.data

from drapps.torch.kept import without_subsets
from drapps.torch.recognise import NotLifted
from drapps.torch.report import LiftReport, stock_report, unused
from drapps.torch.text.call_plan import CallPlan, tokenizer_called
from drapps.torch.text.collators import is_collator
from drapps.torch.text.own import is_exactly
from drapps.torch.text.plan import TextPlan
from drapps.torch.text.stamps import same_stamp
from drapps.torch.text.table import HOME
from drapps.torch.text.table_plan import TablePlan


def text_of(
    loader: Any, earlier: TextPlan | None, verdict: NotLifted
) -> tuple[TextPlan | None, LiftReport]:
    """The plan of a loader over text, and its report; of any other loader, the report alone.

    Args:
        loader: that has no native loader.
        earlier: the plan that was made of it before.
        verdict: why it has none.
    """
    if not loader.lift or not _is_text(loader):
        return None, stock_report(loader, str(verdict))
    try:
        _require_plain(loader)
        kind = TablePlan if tokenizer_called(loader.collate_fn) is None else CallPlan
        plan = earlier
        if type(plan) is not kind or not same_stamp(plan.stamp, kind.stamp_of(loader)):
            plan = kind(loader)
    except NotLifted as why:
        return None, stock_report(loader, str(why))
    return plan, _report(loader, plan)


def _is_text(loader: Any) -> bool:
    if not sys.modules.keys() & {"datasets", "transformers"}:
        return False
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return False
    if tokenizer_called(loader.collate_fn) is not None:
        return True
    try:
        dataset, _ = without_subsets(loader.dataset)
    except NotLifted:
        return False
    return is_exactly(dataset, HOME, "Dataset") or is_collator(loader.collate_fn)


def _require_plain(loader: Any) -> None:
    if loader.batch_sampler is None:
        raise NotLifted("batch_size=None yields single samples")
    if loader.worker_init_fn is not None:
        raise NotLifted("worker_init_fn is set, and threads would never call it")
    if torch.get_default_device().type != "cpu":
        raise NotLifted(f"torch makes its tensors on {torch.get_default_device()}")


def _report(loader: Any, plan: TextPlan) -> LiftReport:
    notes = []
    if plan.random:
        notes.append("masks are drawn by DRAPPS: same distributions, other draws")
    if loader.num_workers:
        notes.append(f"num_workers={loader.num_workers} are threads of this process")
    return LiftReport(
        native=True,
        dataset=f"{plan.dataset} of {len(loader.dataset):,} samples",
        transforms=plan.described,
        order="that of the stock loader",
        notes=(*notes, *unused(loader)),
    )
