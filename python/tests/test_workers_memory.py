"""A large Python list in a dataset costs one copy, whatever the number of processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from python.tests.cells import full

pytest.importorskip("torch")

SCRIPT = """
import contextlib, gc, os, sys, warnings
import torch
from drapps.torch import DataLoader

warnings.simplefilter("ignore")


def pss(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it was surplus
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


class Listed(torch.utils.data.Dataset):
    def __init__(self, records):
        self.items = [
            {"path": f"/data/{i:09d}/some/file.jpg", "label": i, "box": [i * 1.0, i + 1.0, i + 2.0]}
            for i in range(records)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        item = self.items[index]
        return item["label"], item["box"][0]


if __name__ == "__main__":
    before = pss([os.getpid()])
    dataset = Listed(int(sys.argv[1]))
    gc.collect()
    one_copy = pss([os.getpid()]) - before
    options = {"num_workers": int(sys.argv[2]), "shuffle": True}
    options |= {"persistent_workers": True, "torch_order": True}
    loader = DataLoader(dataset, batch_size=1024, **options)
    totals = []
    for _ in range(4):
        for labels, lefts in loader:
            assert torch.equal(labels.double(), lefts)
        workers = [process.pid for process in loader._iterator._workers]
        totals.append(pss([os.getpid(), *workers]) - before)
    print(one_copy, *totals)
"""


@pytest.mark.parametrize(
    ("records", "workers"),
    [(120_000, 4), full((180_000, 8)), full((2_200_000, 8))],
    ids=["smaller", "cut", "1 GiB"],
)
def test_workers_share_a_large_list(records, workers, tmp_path):
    script = tmp_path / "listed.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(records), str(workers)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    one_copy, *totals = map(float, done.stdout.split())
    assert one_copy > 70 / 180_000 * records if records < 1e6 else one_copy > 1000
    least = workers * 16 if records < 1e6 else 0  # MiB that processes take in any case
    assert max(totals) <= 1.15 * one_copy + least, (one_copy, totals)
    assert totals[-1] <= 1.05 * totals[1] + 8, "memory grows with the epochs"
