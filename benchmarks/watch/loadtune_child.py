"""A case, given as JSON, as loadtune takes a training: a dataset, and what a step does.

Prints the share of time in which loadtune's loop waits for a batch.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch
from loadtune.knobs import Knobs
from loadtune.profiler import profile_session
from loadtune.workload import Workload

from benchmarks.watch.child import spent_by
from benchmarks.watch.samples import Collate, Records

_WARMUP = 10


def main() -> None:
    """Trains for so many steps."""
    case, steps = json.loads(sys.argv[1]), int(sys.argv[2])
    spent, workers, prefetch = spent_by(case, 0)

    def step(model: Any, _optimizer: Any, _batch: Any, _device: Any) -> Any:
        time.sleep(case["step_s"])
        return sum(each.sum() for each in model.parameters())

    workload = Workload(
        name=case["causes"][0],
        make_dataset=lambda: Records(spent, case),
        make_model=lambda: torch.nn.Linear(1, 1),
        make_optimizer=lambda model: torch.optim.SGD(model.parameters(), 0.0),
        train_step=step,
        default_batch_size=case["batch"],
        collate_fn=Collate(spent.get("collate", 0.0) * case["batch"]),
    )
    knobs = Knobs(num_workers=workers, prefetch_factor=prefetch if workers else None, num_threads=1)
    profile = profile_session(workload, knobs, steps=steps, warmup=_WARMUP)
    print(json.dumps({"waits": profile.data_wait_frac}), flush=True)


if __name__ == "__main__":
    main()
