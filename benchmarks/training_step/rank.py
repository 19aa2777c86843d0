"""A rank, or a training alone, on one thread: python -m benchmarks.training_step.rank JOB."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed

from benchmarks.training_step.tasks import load
from drapps import train

_WARM = 3
_SECONDS = 4.0


def main(job: dict[str, int]) -> dict[str, float]:
    """Seconds of a step, and of an all-reduce of its gradient alone, where there are ranks."""
    torch.set_num_threads(1)
    ranks = int(os.environ["WORLD_SIZE"])
    task = load("text")
    torch.manual_seed(1)
    model: torch.nn.Module = task.model()
    count = sum(each.numel() for each in model.parameters())
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    step = train.Step(model, task.optimizer(model, 1e-3))
    rows = next(iter(torch.utils.data.DataLoader(task.dataset, job["batch"])))

    def once() -> None:
        with step:
            loss = task.loss_of(model, rows)
        step.backward(loss, samples=len(rows[0]))

    costs = {"step_s": _median(once, job["steps"]), "network_s": 0.0, "gradient_bytes": 4.0 * count}
    if ranks > 1:
        gradient = torch.zeros(count)
        costs["network_s"] = _median(lambda: torch.distributed.all_reduce(gradient), job["steps"])
        torch.distributed.barrier()
    return costs


def _median(work: Callable[[], object], count: int) -> float:
    times = []
    for _ in range(_WARM + count):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times[_WARM:])


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
