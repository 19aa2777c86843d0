"""What is said of a training, of all its ranks together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drapps.watching.account import RankAccount
from drapps.watching.rules import LEAST_STALL, RULES, Verdict, ceiling_of

# Work of the other ranks, as a share of that of the slowest one, up to which it is slow.
_EVEN = 0.92


def verdict_of(ranks: Sequence[RankAccount]) -> Verdict:
    """The verdict on all ranks: that which waits most is judged, and no other is blamed for it."""
    if not ranks:
        sentence = "No loader was iterated, so nothing can be said."
        return Verdict(None, "nothing-seen", sentence)
    worst = max(ranks, key=lambda rank: rank.stall)
    verdict = next(verdict for rule in RULES if (verdict := rule(worst)) is not None)
    others = [rank for rank in ranks if rank is not worst]
    if not others:
        return verdict
    if verdict.data_bound and max(rank.stall for rank in others) < LEAST_STALL:
        lead = f"Rank {worst.rank} alone waits for data, and all others wait for it. "
        return Verdict(True, verdict.cause, lead + verdict.sentence, verdict.action, verdict.gain)
    if verdict.data_bound is False:
        return _slow_rank(ranks) or verdict
    return verdict


def judged(ranks: Sequence[RankAccount]) -> dict[str, Any]:
    """What a report says of all ranks together, by its fields."""
    verdict = verdict_of(ranks)
    worst = max(ranks, key=lambda rank: rank.stall)
    total = max(1e-9, sum(line[0] for line in worst.making.lines))
    return {
        "verdict": verdict.cause,
        "data_bound": verdict.data_bound,
        "sentence": verdict.sentence,
        "action": verdict.action,
        "gain": verdict.gain,
        "stall": worst.stall,
        "ceiling": ceiling_of(worst),
        "lost_hours": sum(rank.exposed_s for rank in ranks) / 3600,
        "lines": [
            {"line": line, "text": text, "stage": stage, "resource": kind, "share": spent / total}
            for spent, line, text, stage, kind in worst.making.lines[:8]
        ],
        "step_lines": [
            {"line": line, "text": text, "seconds": spent}
            for spent, line, text in worst.step_lines[:5]
        ],
    }


def _slow_rank(ranks: Sequence[RankAccount]) -> Verdict | None:
    """All ranks take a step at the same time: the one that computes longest makes the others wait.

    A rank's own work is its step without its waits for the others.
    """
    work = {rank.rank: _work_of(rank) for rank in ranks}
    slowest = max(work, key=lambda rank: work[rank])
    others = [seconds for rank, seconds in work.items() if rank != slowest]
    if not others or max(others) > _EVEN * work[slowest]:
        return None
    gain = work[slowest] / max(others)
    sentence = (
        f"Your training does not wait for data: rank {slowest} computes for "
        f"{work[slowest] * 1e3:.0f} ms a step, and the others wait for it."
    )
    action = f"Find out why rank {slowest} is slow: its device, its clock, or more work."
    return Verdict(False, "slow-rank", sentence, action, gain)


def _work_of(rank: RankAccount) -> float:
    return (rank.body.sum - rank.synchronising_s) / max(1, rank.body.count)
