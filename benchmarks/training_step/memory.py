"""Peak memory of ResNet-50 and GPT-2 small, plain and within a limit."""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Answer
from benchmarks.training_step.bench import Bench

WANTED = 0.75  # of the plain step's peak
SLOWER = 1.35  # times as long a step may take
SHARES = (0.3, 0.5, 0.7, 0.85)  # of what a plain step adds: limits that are tried in turn
_ROOM = 1.02  # above the smallest peak that was found, for the next limit
MODELS = {"resnet50": "image", "gpt2": "text"}  # and the stand-in whose tuned batch they have


def measure(bench: Bench, batches: dict[str, int]) -> None:
    """Adds the ratio of the peaks of each model; `batches` has each stand-in's tuned one."""
    for model, task in MODELS.items():
        _measure(bench, model, batches[task])


def _measure(bench: Bench, model: str, batch: int) -> None:
    job = {
        "what": "memory",
        "model": model,
        "batch": batch,
        "side": bench.settings.side,
        "context": bench.settings.context,
    }
    plain = bench.ask("memory", model, batch, "plain", **job, limit=None)
    case = bench.name(f"memory_{model}")
    figures: dict[str, dict[str, Any]] = {"plain": {**plain, "batch": batch}}
    chosen: Answer | None = None
    shares = list(SHARES)
    while shares:
        share = shares.pop(0)
        limit = int(share * plain["step_bytes"])
        answer = bench.ask("memory", model, batch, share, **job, limit=limit)
        name = f"within {share:.0%} of the step"
        if "cannot" in answer:
            figures[name] = {"cannot_run": answer["cannot"]}
            least = _ROOM * answer["smallest_bytes"] / plain["step_bytes"]
            shares = [max(least, share + 0.01), *(each for each in shares if each > least)]
            shares = [each for each in shares if each < 1]
            continue
        slower = answer["seconds"] / answer["plain_seconds"]
        figures[name] = {**answer, "slower": slower}
        if slower <= SLOWER:
            chosen = answer
            break
    bench.result.figures[case] = figures
    bench.result.limits[case] = WANTED
    if chosen is not None:
        bench.result.ratios[case] = chosen["peak_bytes"] / plain["peak_bytes"]
        slower = chosen["seconds"] / chosen["plain_seconds"]
        bench.result.ratios[bench.name(f"step_time_{model}")] = slower
        bench.result.limits[bench.name(f"step_time_{model}")] = SLOWER
