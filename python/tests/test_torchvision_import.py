"""torchvision in the project's environment, as a user's script finds it."""

import subprocess
import sys

import pytest

SCRIPT = """
import torch
from torchvision import datasets, extension, models, ops, transforms
from torchvision.transforms import v2

boxes, scores = torch.tensor([[0.0, 0, 9, 9], [0, 0, 9, 8]]), torch.tensor([0.9, 0.8])
try:
    assert ops.nms(boxes, scores, 0.5).tolist() == [0]
except (NotImplementedError, RuntimeError) as error:
    assert not extension._has_ops(), error
"""


def test_a_fresh_interpreter_imports_it_whole_and_without_a_warning():
    pytest.importorskip("torchvision")
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
