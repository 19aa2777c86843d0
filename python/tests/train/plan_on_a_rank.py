"""A plan that two ranks make together: what a test starts."""

import json
import os

import torch.distributed

from drapps import train
from python.tests.train.models import batches, loss_of, model_of, sgd

torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(model_of())
plan = train.plan(
    model, list(batches([8] * 16)), sgd(model), loss=loss_of, memory="1GiB", seconds=5.0
)
answer = {name: plan.chosen[name] for name in ("micro_batch", "accumulation", "samples")}
print(json.dumps({**answer, "noise": str(plan.noise), "binds": plan.binds}), flush=True)
torch.distributed.barrier()
os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
