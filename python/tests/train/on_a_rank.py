"""Two steps of half of the batches each, which the ranks have in turn: what a test starts."""

import json
import os
import sys

import torch.distributed

from drapps import train
from python.tests.train.models import batches, model_of, run, sgd, weights

torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
sizes = json.loads(sys.argv[1])
model = torch.nn.parallel.DistributedDataParallel(model_of())
step = train.Step(model, sgd(model), batch=len(sizes) // 2 // ranks, noise=True)
run(step, model, list(batches(sizes))[rank::ranks])
estimate = step.noise.estimate
answer = {"noise": estimate.noise, "gradient": estimate.gradient, "samples": step.samples}
print(json.dumps({**answer, "weights": weights(model).tolist()}), flush=True)
torch.distributed.barrier()
os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
