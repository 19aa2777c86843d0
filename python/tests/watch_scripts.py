"""Scripts that wait for data in known ways, run by themselves and under ``drapps watch``."""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAD = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Photos(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        data = read_bytes(index)
        picture = decode(data)
        return transform(picture)

def read_bytes(index):
    if READ: time.sleep(READ)
    return index

def decode(data):
    if DECODE: time.sleep(DECODE)
    return torch.full((8,), float(data))

def transform(picture):
    if TRANSFORM: time.sleep(TRANSFORM)
    return picture + 1

def collate(samples):
    if COLLATE: time.sleep(COLLATE)
    return torch.stack(samples)

READ = DECODE = TRANSFORM = COLLATE = 0.0
STEP = 0.0
STEPS = 60
"""
TAIL = """
def train():
    loader = DataLoader(Photos(), batch_size=4, collate_fn=collate, num_workers=WORKERS)
    for number, batch in enumerate(loader):
        time.sleep(STEP)
        if number == STEPS:
            break

if __name__ == "__main__":
    train()
"""


def script(workers=1, **seconds):
    """A training whose parts sleep for so long; HEAD has their names."""
    lines = [f"{name} = {value}" for name, value in seconds.items()]
    return "\n".join([HEAD, *lines, f"WORKERS = {workers}", TAIL])


WITHOUT_TORCH = """
import time
import drapps

def numbers():
    for number in range(40):
        time.sleep(READ)
        yield number

for number in drapps.watch(numbers()):
    time.sleep(0.03)
"""


def environment(folder):
    """In which children find the package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


def plain(text, folder, *words):
    """Runs a script as it is."""
    path = Path(folder, "train.py")
    path.write_text(text)
    return subprocess.run(
        [sys.executable, path.name, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder),
        timeout=120,
    )


def watched(text, folder, *options, command=()):
    """Runs it under ``drapps watch``; its result, and the report where there is one."""
    path, report = Path(folder, "train.py"), Path(folder, "told.json")
    path.write_text(text)
    report.unlink(missing_ok=True)
    words = command or [sys.executable, path.name]
    done = subprocess.run(
        [sys.executable, "-m", "drapps", "watch", "--json", report.name, *options, "--", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder),
        timeout=180,
    )
    return done, json.loads(report.read_text()) if report.exists() else None


def undisturbed(text, folder, holds):
    """As ``watched``, again where a report does not hold: other programs lengthen all waits."""
    for attempt in range(3):
        own = Path(folder, str(attempt))
        own.mkdir()
        done, report = watched(text, own)
        assert done.returncode == 0, done.stderr
        if holds(report):
            break
    return done, report
