"""What a step says of models and optimizers of which each rank has a part: what a test starts."""

import json
import os

import torch
import torch.distributed
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer

from drapps import PipelineError, train
from python.tests.train.models import model_of, sgd


def said_of(make):
    """The message of the error."""
    try:
        make()
    except PipelineError as error:
        return str(error)
    return "nothing"


torch.distributed.init_process_group("gloo")
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
whole, parts, wrapped = model_of(), model_of(), model_of()
fully_shard(parts, mesh=mesh)
wrapped = FullyShardedDataParallel(wrapped, device_id=torch.device("cpu"))
sharing = ZeroRedundancyOptimizer(whole.parameters(), torch.optim.SGD, lr=0.1)
answer = {
    "whole": said_of(lambda: train.Step(whole, sgd(whole))),
    "fully_shard": said_of(lambda: train.Step(parts, sgd(parts))),
    "parameters": said_of(lambda: train.NoiseScale(list(parts.parameters()))),
    "wrapper": said_of(lambda: train.NoiseScale(wrapped)),
    "optimizer": said_of(lambda: train.Step(whole, sharing)),
}
print(json.dumps(answer), flush=True)
os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
