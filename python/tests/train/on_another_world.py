"""A training on some ranks, from its beginning or from where others were: what a test starts."""

import json
import os
import sys

import numpy as np
import torch
import torch.distributed

import drapps
from drapps import train
from python.tests.train.models import model_of, sgd, weights

plan = json.loads(sys.argv[1])
ranks, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
draws = np.random.default_rng(1)
rows = draws.normal(size=(plan["rows"], 8)).astype(np.float32)
labels = draws.integers(4, size=plan["rows"])
columns = {"points": rows, "labels": labels, "number": np.arange(plan["rows"])}

inner = model = model_of()
if ranks > 1:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(inner)
optimizer = sgd(model)
rate = train.WarmupCosine(optimizer, warmup=64, total=2000, quantum=32)
batch = plan["batch"]
batch = batch if isinstance(batch, int) else train.BatchSchedule(**batch)
step = train.Step(model, optimizer, batch=batch, learning_rate=rate, scaling="sqrt", noise=True)
loader = drapps.arrays(columns).shuffle(seed=5).shard(rank, ranks).batch(8)
if plan["resumed"]:
    state = torch.load(plan["resumed"], weights_only=False)
    inner.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step.load_state_dict(state["step"])
    loader.load_state_dict(state["loader"])


def batches():
    """Those of one epoch after the other, and whether one is the last of its epoch."""
    while True:
        passing = iter(loader)
        for given in passing:
            yield given.torch(), len(passing) == 0


def over_ranks(value):
    """The sum."""
    shared = torch.tensor(value, dtype=torch.float64)
    if ranks > 1:
        torch.distributed.all_reduce(shared)
    return float(shared)


steps = []  # loss, samples of this rank
total, seen = 0.0, []
for given, ends in batches():
    with step:
        loss = torch.nn.functional.cross_entropy(model(given["points"]), given["labels"])
    total += float(loss.detach()) * len(given["labels"])
    seen += given["number"].tolist()
    if not step.backward(loss, samples=len(given["labels"]), last=ends or None):
        continue
    steps.append([over_ranks(total) / over_ranks(len(seen)), seen])
    total, seen = 0.0, []
    if step.steps == plan["saved_at"] and rank == 0:
        parts = {"model": inner, "optimizer": optimizer, "step": step, "loader": loader}
        torch.save({name: each.state_dict() for name, each in parts.items()}, plan["saved"])
    if step.steps == plan["steps"]:
        break
answer = {"steps": steps, "weights": weights(model).tolist(), "rates": rate.get_last_lr()}
print(json.dumps({**answer, "batches": step.batch.accumulation * ranks}), flush=True)
if ranks > 1:
    torch.distributed.barrier()
os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
