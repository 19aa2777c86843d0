"""A training that waits as a case says; it is given as JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from benchmarks.watch.cases import SMALL
from benchmarks.watch.samples import POLLS, Collate, Records, own_s, polls
from drapps.watching.device import EmulatedDevice
from drapps.watching.machine import cores

# Of a batch's making, what the cause takes; the rest is a little of everything.
_SHARE = 0.85
_MANY = 4  # workers for each core, where there are too many of them

_PARTS = {
    "slow_read": "read",
    "slow_rank_data": "read",
    "tf_read": "read",
    "tf_cpu": "decode",
    "slow_decode": "decode",
    "slow_op": "blur",
    "python_transform": "python",
    "collate": "collate",
    "memory": "pages",
}


def spent_by(case: dict[str, Any], rank: int) -> tuple[dict[str, float], int, int]:
    """Seconds by part of a sample, the number of workers, and the prefetch factor."""
    step, batch = case["step_s"], case["batch"]
    spent: dict[str, float] = {"decode": 0.02 * step / batch}
    workers, prefetch = 1, 2
    stall = 1.0
    for cost in case["cost"]:
        stall *= 1 - cost
    making = step / stall  # of a batch, by one worker, so that steps wait for the cost
    total = sum(case["cost"])
    for cause, cost in zip(case["causes"], case["cost"], strict=True):
        part = _PARTS.get(cause)
        if part is not None and (cause != "slow_rank_data" or rank == 1):
            spent[part] = spent.get(part, 0) + _SHARE * making * cost / total / batch
            rest = (1 - _SHARE) * making * cost / total / batch
            for other in ("read", "decode", "blur"):
                spent[other] = spent.get(other, 0) + rest / 3
        elif cause == "few_workers":
            for other in ("read", "decode", "blur"):
                spent[other] = making / 3 / batch
        elif cause == "no_workers":
            workers = 0
            for other in ("read", "decode", "blur"):
                spent[other] = _waited(case, cost) / 3 / batch
        elif cause == "many_workers":
            # What their polling leaves of the cores makes batches too slowly; as many workers as
            # cores would make them in time.
            workers = int(_MANY * cores())
            left = cores() - workers * POLLS
            spent["decode"] = left * making / batch
        elif cause in SMALL:
            workers, spent = 0, {"decode": _waited(case, cost) / batch}
        elif cause == "accelerator":
            workers, spent = 0, {"decode": step * cost / batch}  # which the device hides
        elif cause in ("quota", "foreign_load"):
            spent["decode"] = 0.9 * step / batch
        elif cause == "straggler":
            # One sample in 100 is long; what the batches made ahead cover does not count.
            workers = 2
            lost = 100 / batch * step * cost / (1 - cost)
            case["long"] = {"every": 100, "many": 1, "seconds": lost + workers * prefetch * step}
        elif cause == "prefetch":
            # A fifth of the batches is long, all their samples; the mean would do for two workers.
            workers, prefetch = 2, 1
            lost = 5 * step * cost / (1 - cost) + workers * step
            case["long"] = {"every": 5 * batch, "many": batch, "seconds": lost / batch}
    return spent, workers, prefetch


def _waited(case: dict[str, Any], cost: float) -> float:
    """What a batch is to take that is made between two steps, without what it takes anyway."""
    return max(0.0, case["step_s"] * cost / (1 - cost) - case.get("own_s", 0.0))


def loader_of(case: dict[str, Any], rank: int) -> Any:
    """The loader of the training."""
    if case["causes"][0] in ("no_workers", "small_wait"):
        case["own_s"] = own_s(case["batch"], case["step_s"])
    spent, workers, prefetch = spent_by(case, rank)
    if case["loader"] == "tensorflow":
        from benchmarks.watch import tf_data

        return tf_data.Batches(spent, case)
    options: dict[str, Any] = {"prefetch_factor": prefetch} if workers else {}
    if "many_workers" in case["causes"]:
        options["worker_init_fn"] = polls
    kind: Any = DataLoader
    if case["loader"] == "drapps":
        import drapps.torch

        kind, options["policy"] = drapps.torch.DataLoader, "initial"
    return kind(
        Records(spent, case),
        batch_size=case["batch"],
        num_workers=workers,
        collate_fn=Collate(spent.get("collate", 0.0) * case["batch"]),
        **options,
    )


def pauses(case: dict[str, Any]) -> Iterator[None]:
    """Once a step: what takes place between steps now and then."""
    every, cause = 25, case["causes"][0]
    lost = every * case["step_s"] * case["cost"][0] / (1 - case["cost"][0])
    number = 0
    while True:
        number += 1
        if number % every == 0 and cause == "logging":
            time.sleep(lost)
        if number % every == 0 and cause == "validation":
            with torch.no_grad():
                for _ in DataLoader(Records({}, {}), batch_size=8, sampler=range(80)):
                    time.sleep(lost / 10)
        yield


class Sleeping(torch.nn.Module):
    """A model that takes so many seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, seconds: float) -> torch.Tensor:
        """A loss."""
        time.sleep(seconds)
        return self.weight.sum()


def training_step() -> Callable[[float], None]:
    """What takes so many seconds of a step; under TraceML all that it wants to see of one."""
    if importlib.util.find_spec("traceml_ai") is None:
        return time.sleep
    import traceml_ai

    traceml_ai.init()
    model = Sleeping()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)

    def step(seconds: float) -> None:
        with traceml_ai.trace_step(model):
            model(seconds).backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def main() -> None:
    """Trains for as long as is said, and prints how many steps that were."""
    case, seconds = json.loads(sys.argv[1]), float(sys.argv[2])
    torch.set_num_threads(1)
    random.seed(case["seed"])
    rank = int(os.environ.get("RANK", 0))
    group = "slow_rank" in case["causes"] or "slow_rank_data" in case["causes"]
    if group:
        torch.distributed.init_process_group("gloo")
    step = case["step_s"]
    slow = case["cost"][0] if case["causes"][0] == "slow_rank" and rank == 1 else 0.0
    device = EmulatedDevice()
    if "accelerator" in case["causes"]:
        from drapps.watching.recorder import HERE

        if HERE.folder is not None:
            HERE.recorder().idleness.use(device)
    between, train = pauses(case), training_step()
    end, steps, batches = 0.0, 0, iter(loader_of(case, rank))
    done = torch.zeros(1)
    while not done.item():
        next(batches)
        end = end or time.perf_counter() + seconds
        if "accelerator" in case["causes"]:
            device.launch(step)
            time.sleep(max(0.0, device.ahead_s() - 2 * step))
        else:
            train(step / (1 - slow))
        next(between)
        steps += 1
        done[0] = time.perf_counter() > end
        if group:
            torch.distributed.all_reduce(done)
    if case["loader"] == "tensorflow":
        batches.close()
    print(json.dumps({"steps": steps}), flush=True)
    if group:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
