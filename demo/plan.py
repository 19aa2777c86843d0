"""The order of a run.

1. The stock loader's worker counts are tried out, with and without a network behind them.
2. Training, by the stock loader at its best worker count and by DRAPPS, with the same seed.
3. The emulated accelerator, fed by stock and by DRAPPS under two policies.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from demo import process
from demo.results import Results
from demo.settings import BATCH, EPOCHS, PHASES_S, PROBE_S, SEED, STEP_FACTOR, TRAINING_S

# Part two's runs, by the name that they have in table and plots.
ACCELERATED = {
    "stock": {"feed": "stock", "policy": ""},
    "DRAPPS, initial": {"feed": "drapps", "policy": "initial"},
    "DRAPPS, hill_climb": {"feed": "drapps", "policy": "hill_climb"},
}


def worker_counts(cores: int) -> list[int]:
    """The values of `num_workers` worth trying on this many cores."""
    return sorted({0, 1, cores // 2, cores, 2 * cores})


def best_workers(rates: dict[int, float]) -> int:
    """The worker count of the highest rate; of equal ones the smallest."""
    return min(rates, key=lambda workers: (-rates[workers], workers))


def epochs_for(samples: int, rate: float) -> int:
    """As many epochs as go into TRAINING_S at `rate` samples/s, within EPOCHS."""
    return min(max(int(TRAINING_S * rate / samples), EPOCHS[0]), EPOCHS[1])


def run(root: Path, samples: int, traces: Path) -> Results:
    """Runs everything on the data set in `root`, which has `samples` training pictures.

    What DRAPPS decides before the emulated accelerator is recorded in `traces`, by policy.

    Raises process.RunError when one of the runs fails.
    """
    common: dict[str, Any] = {"root": str(root), "seed": SEED}
    results = Results(probe=_probe(common))
    results.workers = best_workers(results.probe["train"])
    results.accelerator_workers = best_workers(results.probe["load"])
    results.step_s = STEP_FACTOR * BATCH / results.probe["drapps"][0]
    _train(common, epochs_for(samples, results.probe["train"][results.workers]), results)
    _accelerate(common, results, traces)
    return results


def _probe(common: dict[str, Any]) -> dict[str, dict[int, float]]:
    counts = worker_counts(len(os.sched_getaffinity(0)))
    spec = {**common, "job": "probe", "seconds": PROBE_S, "workers": counts}
    events, _ = process.run("finding stock's best num_workers", spec)
    rates: dict[str, dict[int, float]] = {}
    for event in events:
        if event["event"] == "rate":
            rates.setdefault(event["job"], {})[event["workers"]] = event["rate"]
    return rates


def _train(common: dict[str, Any], epochs: int, results: Results) -> None:
    for name, feed in (("stock", "stock"), ("DRAPPS", "drapps")):
        spec = {**common, "job": "train", "feed": feed, "epochs": epochs}
        events, peak = process.run(f"training, {name}", {**spec, "workers": results.workers})
        results.training[name] = {
            "epochs": [event for event in events if event["event"] == "epoch"],
            "peak_bytes": peak,
        }
        results.device = next(event["device"] for event in events if event["event"] == "ready")
        results.lifted = next((e["report"] for e in events if e["event"] == "lifted"), "")


def trace_of(policy: str, traces: Path) -> Path:
    """Where a run under `policy` is recorded."""
    return traces / f"{policy}.trace"


def _accelerate(common: dict[str, Any], results: Results, traces: Path) -> None:
    for name, choice in ACCELERATED.items():
        spec = {**common, "job": "accelerate", **choice, "workers": results.accelerator_workers}
        spec |= {"step_s": results.step_s, "phases": PHASES_S}
        if "policy" in choice:
            trace = trace_of(choice["policy"], traces)
            trace.unlink(missing_ok=True)  # of an earlier demo
            spec["trace"] = str(trace)
        events, _ = process.run(f"accelerator, {name}", spec)
        results.accelerated[name] = next(event for event in events if event["event"] == "series")
