"""Files of scenario python-cached: the samples of scenario python-dataset, one in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from benchmarks.contestant import ROOT
from benchmarks.python_dataset.data import Worked


def ensure(name: str, spec: dict[str, Any]) -> Path:
    """Returns the folder of the items of `Worked(spec)`, made without their work."""
    folder = ROOT / "build/bench/python-cached" / name
    stamp = folder / f"{spec['samples']} items of {spec['floats']} floats"
    if not stamp.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        items = Worked({**spec, "turns": 0})
        for index in range(len(items)):
            row, work_s = items[index]
            # A row of its own: of a view the whole of what it looks at would be saved.
            torch.save((row.clone(), work_s), folder / f"{index}.pt")
        stamp.touch()
    for file in folder.iterdir():
        file.read_bytes()  # into the page cache
    return folder
