"""A DDP loop under torchrun itself, with gloo, at 2 and 3 ranks: the samples that stock gives."""

import json
import subprocess
import sys

import pytest

from python.tests.scripts.runner import ROOT, environment

SCRIPT = """
import json
import os
import random

import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils import data

import drapps.torch
from python.tests.torch_contract.samples import Calls, drawn


def train(make, dataset, **options):
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    sampler = data.DistributedSampler(dataset, seed=1)
    loader = make(dataset, 3, sampler=sampler, **options)
    model = DistributedDataParallel(torch.nn.Linear(1, 1, dtype=torch.float64))
    seen = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            batch = batch[0] if isinstance(batch, list) else batch
            model(batch[:, :1]).sum().backward()
            seen.append(batch.tolist())
    return seen, [parameter.grad.tolist() for parameter in model.parameters()]


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    tensors = data.TensorDataset(torch.arange(20.0, dtype=torch.float64).reshape(20, 1))
    for workers in (0, 2):
        for dataset, options in ((tensors, {}), (Calls(drawn, 20), {"torch_order": True})):
            streams = train(drapps.torch.DataLoader, dataset, num_workers=workers, **options)
            assert streams == train(data.DataLoader, dataset, num_workers=workers)
            indices = [round(row[0]) for batch in streams[0] for row in batch]
            line = json.dumps([distributed.get_rank(), indices]) + "\\n"
            os.write(1, line.encode())  # whole, beside those of the other ranks
    distributed.destroy_process_group()
"""


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_see_what_they_see_with_stock(ranks, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", path]
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**environment(), "PATH": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 4 * ranks
    assert {rank for rank, _ in lines} == set(range(ranks))
    seen = sorted(index for _, indices in lines for index in indices)
    assert set(seen) == set(range(20))
