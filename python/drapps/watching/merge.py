"""The files of all processes of a training, and the report that they come to."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError
from drapps.watching.account import RankAccount, ranks_of
from drapps.watching.report import RankReport, WatchReport
from drapps.watching.verdict import judged


def processes_in(folder: Path) -> list[dict[str, Any]]:
    """What each process has left in a folder; files that are not whole are left out."""
    processes = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError):
            processes.append(json.loads(path.read_text(encoding="utf-8")))
    return processes


def report_of(folder: Path, command: Sequence[str] = ()) -> WatchReport:
    """The report of a training.

    Args:
        folder: where its processes have left what they recorded.
        command: how it was started, for what is said of `drapps lift`.

    Raises:
        PipelineError: no process has recorded a step.
    """
    processes = processes_in(folder)
    ranks = ranks_of(processes)
    if not ranks:
        raise PipelineError("no batch was taken from any loader that is watched")
    worst = max(ranks, key=lambda rank: rank.stall)
    hooked = {name: how for each in processes for name, how in each["hooked"].items()}
    return WatchReport(
        **judged(ranks),
        seconds=max(rank.seconds for rank in ranks),
        stages={stage: share for stage, share in worst.stages().items() if share >= 0.005},
        resources=_resources(worst),
        slowest=[{"seconds": spent, "name": name} for spent, name in worst.making.slowest[:5]],
        ranks=[_rank(rank) for rank in ranks],
        hooked=hooked,
        lift=_lift(worst, command),
    )


def _resources(rank: RankAccount) -> dict[str, float]:
    making = rank.making
    shares = {kind: making.share(resource=kind) for _, kind in making.parts}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _rank(rank: RankAccount) -> RankReport:
    size = rank.loader.get("batch_size")
    rate = rank.steps.count / rank.steps.sum if rank.steps.sum else 0.0
    return RankReport(
        rank=rank.rank,
        pid=rank.pid,
        loader=dict(rank.loader),
        steps=rank.steps.count,
        step_s=rank.steps.mean,
        stall=rank.stall,
        waited_steps=rank.waited_steps,
        wait_s=rank.waits.sum,
        hidden_s=max(0.0, rank.waits.sum - rank.exposed_s),
        handover_share=rank.handover_share,
        device_busy=rank.device_busy,
        samples_per_s=rate * size if isinstance(size, int) else None,
        start_s=sum(rank.starts),
        gaps_s=sum(rank.gaps),
        apart=dict(rank.apart),
        workers=rank.making.workers,
        idle_share=rank.making.idle_share,
        batch_s=rank.making.batches.mean,
        synchronising_s=rank.synchronising_s,
        memory_growth=rank.grown_bytes_per_hour,
        timeline=dict(rank.timeline),
    )


def _lift(rank: RankAccount, command: Sequence[str]) -> str:
    """How to see what the lifted loader would make of a stock one."""
    if rank.loader.get("kind") != "stock":
        return ""
    scripts = [number for number, word in enumerate(command) if word.endswith(".py")]
    if not scripts:
        return "drapps lift SCRIPT says whether drapps.torch.DataLoader would run this natively"
    words = shlex.join(command[scripts[0] :])
    return f"drapps lift {words} says whether drapps.torch.DataLoader would run this natively"
