"""From raw measurements to the numbers of the table: pure arithmetic."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Epochs = Sequence[dict[str, Any]]  # the `epoch` events of train.py, in order
Steps = Sequence[Sequence[float]]  # (time, waited, samples) of each step, in order

MIB = 1 << 20


def training_table(runs: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, str]]]:
    """The rows of part one: what was measured, and its text for every feed.

    `runs` maps each feed to {"epochs": Epochs, "peak_bytes": int}, the stock feed among them.
    """
    goal = 0.95 * runs["stock"]["epochs"][-1]["accuracy"]
    rows: dict[str, dict[str, str]] = {}
    for feed, run in runs.items():
        epochs: Epochs = run["epochs"]
        reached = seconds_to(epochs, goal)
        seconds = sum(epoch["seconds"] for epoch in epochs)
        samples = sum(epoch["samples"] for epoch in epochs)
        waited = sum(epoch["waited"] for epoch in epochs)
        cpu = sum(epoch["cpu_seconds"] for epoch in epochs)
        column = {
            "epoch time (median)": f"{statistics.median(e['seconds'] for e in epochs):.2f} s",
            "samples/s": f"{samples / seconds:,.0f}",
            "time the step waited": f"{waited:.1f} s ({waited / seconds:.0%})",
            "CPU time per sample": f"{1e3 * cpu / samples:.2f} ms",
            "peak memory": f"{run['peak_bytes'] / MIB:,.0f} MiB",
            "held-out accuracy": f"{epochs[-1]['accuracy']:.1%}",
            f"time to {goal:.1%} accuracy": "not reached"
            if reached is None
            else f"{reached:.1f} s",
        }
        if epochs[-1]["device_seconds"] is not None:
            busy = sum(epoch["device_seconds"] for epoch in epochs)
            column["GPU idle"] = f"{max(0.0, 1 - busy / seconds):.0%}"
        for name, text in column.items():
            rows.setdefault(name, {})[feed] = text
    return list(rows.items())


def seconds_to(epochs: Epochs, accuracy: float) -> float | None:
    """Training time, evaluation not counted, until an epoch ended with `accuracy` or more."""
    spent = 0.0
    for epoch in epochs:
        spent += float(epoch["seconds"])
        if epoch["accuracy"] >= accuracy:
            return spent
    return None


def accuracy_curve(epochs: Epochs) -> list[tuple[float, float]]:
    """Held-out accuracy in per cent over training time in seconds, a point an epoch."""
    curve = []
    spent = 0.0
    for epoch in epochs:
        spent += epoch["seconds"]
        curve.append((spent, 100 * epoch["accuracy"]))
    return curve


def phase_rates(steps: Steps, burst: Sequence[float]) -> dict[str, tuple[float, float]]:
    """(samples/s, share of the time waited) before, during and after the foreign load."""
    edges = [0.0, *burst, steps[-1][0]]
    rates = {}
    for name, begin, end in zip(("before", "during", "after"), edges, edges[1:], strict=False):
        inside = [step for step in steps if begin < step[0] <= end]
        length = max(end - begin, 1e-9)
        waited = sum(step[1] for step in inside)
        rates[name] = (sum(step[2] for step in inside) / length, min(1.0, waited / length))
    return rates


def rate_curve(steps: Steps, window_s: float = 1.5) -> list[tuple[float, float]]:
    """Samples/s over time: at each step, over the whole steps that fill the window before it."""
    curve = []
    first = 0  # the step at whose end the window begins
    inside = -steps[0][2] if steps else 0.0
    for time, _, samples in steps:
        inside += samples
        while first + 1 < len(steps) and steps[first + 1][0] <= time - window_s:
            first += 1
            inside -= steps[first][2]
        if steps[first][0] <= time - window_s:
            curve.append((time, inside / (time - steps[first][0])))
    return curve


def decisions(explained: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of the decision log in `explain()`; none where the stock iterator ran."""
    log = explained["decisions"]
    entries: list[dict[str, Any]] = log["entries"] if isinstance(log, dict) else log
    return entries
