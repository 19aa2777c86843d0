"""The check of a machine with a GPU, on any machine: what it runs, keeps and says."""

import json
from pathlib import Path

import pytest

from python.tests.ranks import TORCH, run_forked

pytest.importorskip("torch")

CHECK = Path(__file__).parents[1] / "tools/gpu_check.py"
TRIAL = "import sys; print('tried', sys.argv[1:]); sys.exit({status})"


def check(tmp_path, status, **parts):
    """Its exit status, what it printed and what it kept, in a kit whose trial ends so."""
    (tmp_path / "wheel_trial.py").write_text(TRIAL.format(status=status))
    text = CHECK.read_text()
    for before, after in parts.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    (tmp_path / "check.py").write_text(text)
    run = run_forked(["check.py", "--results", "there"], tmp_path, TORCH)
    return run, json.loads((tmp_path / "there/results.json").read_text())


def test_without_a_device_the_wheel_alone_is_tried(tmp_path):
    run, kept = check(tmp_path, 0, **{"torch.cuda.is_available()": "False"})
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "1 passed, 0 failed, 4 skipped"
    assert kept["machine"]["devices"] == 0
    assert {part: each["outcome"] for part, each in kept["parts"].items()} == {"wheel": "passed"}
    assert (tmp_path / "there/wheel.log").read_text() == "tried ['photos', '--torch']\n"


def test_a_part_that_fails_or_takes_too_long_is_said_and_the_others_run(tmp_path):
    there = {
        "torch.cuda.is_available()": "True",
        "torch.cuda.device_count() if there else 0": "1",
        "torch.cuda.get_device_name() if there else None": "'a device'",
        "torch.cuda.get_device_properties(0).total_memory if there else 0": "1",
        '"tests": (150, ["-m", "pytest", "-q", "-rs", "python/tests/test_torch_gpu.py"])': (
            '"tests": (1, ["-c", "import time; time.sleep(300)"])'
        ),
    }
    run, kept = check(tmp_path, 3, **there)
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "0 passed, 5 failed, 0 skipped"
    outcomes = {part: each["outcome"] for part, each in kept["parts"].items()}
    assert outcomes["wheel"] == "failed: 3"
    assert outcomes["tests"] == "failed: more than 1 s"
    assert outcomes["gpu-transfers"] == "failed: 1"  # there are no benchmarks in this kit
    assert "tried ['photos', '--torch']" in run.stdout
