"""Loaders of Grain under ``drapps watch`` and ``drapps analyze``."""

import json
import subprocess
import sys

import pytest

from python.tests.cells import some_full
from python.tests.watch_scripts import environment, watched

pytest.importorskip("grain", reason="Grain is not installed")

SCRIPT = """
import sys, time
import grain
import numpy as np

class Source:
    def __len__(self):
        return 120

    def __getitem__(self, index):
        return read_bytes(index)

def read_bytes(index):
    time.sleep(0.004)
    return np.full(8, index, np.float32)

READ = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)

def loader():
    return grain.DataLoader(
        data_source=Source(),
        sampler=grain.samplers.IndexSampler(120, num_epochs=1),
        operations=[grain.transforms.Batch(4)],
        read_options=READ,
    )

def iterated():
    return grain.MapDataset.source(Source()).map(lambda x: x + 1).to_iter_dataset(READ).batch(4)

data = {"loader": loader, "iterated": iterated}[sys.argv[1]]()
for epoch in range(int(sys.argv[2])):
    count = 0
    for batch in data:
        assert batch.shape == (4, 8)
        count += 1
        time.sleep(0.05)
    print("epoch of", count, flush=True)
"""


@pytest.mark.parametrize("kind", some_full(["loader", "iterated"], "iterated"))
def test_each_pass_is_watched_and_its_batches_are_counted_once(kind, tmp_path):
    command = [sys.executable, "train.py", kind, "2"]
    done, report = watched(SCRIPT, tmp_path, command=command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["epoch of 30", "epoch of 30"]
    (rank,) = report["ranks"]
    assert rank["loader"]["kind"] == "grain" and rank["loader"]["at"].endswith("train.py:33")
    assert rank["steps"] == 58
    assert report["data_bound"] and report["stall"] > 0.1
    assert report["lines"][0]["stage"] == "storage"
    assert report["hooked"]["grain.DataLoader"] == report["hooked"]["datasets of Grain"] == "hooked"


@pytest.mark.full
def test_what_grain_raises_has_the_traceback_that_it_has_without(tmp_path):
    broken = SCRIPT.replace("time.sleep(0.004)", "1 / 0")
    command = [sys.executable, "train.py", "iterated", "1"]
    done, _ = watched(broken, tmp_path, command=command)
    plain = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert "ZeroDivisionError" in plain.stderr and done.returncode == plain.returncode == 1
    assert done.stderr.startswith(plain.stderr)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["loader", "iterated"])
def test_a_script_is_analyzed(kind, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    words = ["--steps", "8", "--seconds", "1", "--json", "a.json", "--"]
    done = subprocess.run(
        [sys.executable, "-m", "drapps", "analyze", *words, sys.executable, "train.py", kind, "9"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path),
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "a.json").read_text())
    assert stored["about"]["loader"]["kind"] == "grain" and len(stored["phases"]) == 5
    assert stored["phases"]["training"]["batch"] == 4
    assert "epoch of" not in done.stdout
