"""What a loader's statistics come to, as numbers with names: for logs, and for who watches it.

Here alone they get their names, so that all who show them show the same.
"""

from __future__ import annotations

from typing import Any

from drapps.report.stats import Distribution, Stats

PREFIX = "drapps/"


def numbers(now: Stats, before: Stats | None = None, elapsed_s: float = 0.0) -> dict[str, float]:
    """The statistics as numbers, by name; a name ends in its unit, and a share is from 0 to 1.

    Args:
        now: what was counted up to now.
        before: the same at an earlier time. Means and shares are of the time since then; without
            it, of all the loader's life.
        elapsed_s: seconds since then; 0: not known, and there are no rates.

    Returns:
        ``batches``, ``samples`` and ``failed_samples`` since the loader was made, ``ready_batches``
        now, ``samples_per_s`` and ``batches_per_s``, ``step_ms`` and ``stall_ms`` per step,
        ``stall_share`` of the time of steps, ``memory_used_bytes`` and ``memory_limit_bytes`` of
        the process, ``knob/NAME``, and per stage that has worked ``stage/NAME/service_ms`` per
        sample and ``stage/NAME/queue_length``. What is a mean of nothing is left out.
    """
    earlier: dict[str, Any] = {} if before is None else before
    metrics: dict[str, float] = {
        "batches": now.batches,
        "samples": now.samples,
        "failed_samples": now.failed_samples,
        "ready_batches": now.ready_batches,
        "memory_used_bytes": now.memory["used"],
        "memory_limit_bytes": now.memory["limit"],
    }
    if before is not None and elapsed_s > 0:
        metrics["samples_per_s"] = (now.samples - before.samples) / elapsed_s
        metrics["batches_per_s"] = (now.batches - before.batches) / elapsed_s
    consumer = earlier.get("consumer", {})
    step_s = _since(now.consumer.step_s, consumer.get("step_s"))
    stall_s = _since(now.consumer.stall_s, consumer.get("stall_s"))
    _mean(metrics, "step_ms", step_s, 1e3)
    _mean(metrics, "stall_ms", stall_s, 1e3)
    if step_s[1] > 0:
        metrics["stall_share"] = min(1.0, stall_s[1] / step_s[1])
    for name, value in now.settings["knobs"].items():
        metrics[f"knob/{name}"] = value
    for name, lane in now.lanes.items():
        was = earlier.get("lanes", {}).get(name, {})
        service = _since(lane.service_s, was.get("service_s"))
        queue = _since(lane.queue_length, was.get("queue_length"))
        _mean(metrics, f"stage/{name}/service_ms", service, 1e3)
        _mean(metrics, f"stage/{name}/queue_length", queue, 1)
    return metrics


def logged(metrics: dict[str, float]) -> dict[str, float]:
    """The numbers as they stand among others' in a log: each name begins with ``drapps/``."""
    return {f"{PREFIX}{name}": float(value) for name, value in metrics.items()}


def _since(now: Distribution, before: Distribution | None) -> tuple[int, float]:
    """Count and sum of what has come since; of all, where another loader was counted before."""
    if before is None or before.count > now.count:
        return now.count, now.sum
    return now.count - before.count, max(0.0, now.sum - before.sum)


def _mean(metrics: dict[str, float], name: str, since: tuple[int, float], scale: float) -> None:
    if since[0] > 0:
        metrics[name] = since[1] / since[0] * scale
