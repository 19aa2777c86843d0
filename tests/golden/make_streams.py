"""Writes streams.json: digests of what pipelines of every kind give.

    python -m tests.golden.make_streams [FILE [NAME...]]

The streams of a change that does not mean to alter them equal those of the commit in the file, of
any build: with PYTHONPATH it runs on another one's package.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import torch

from tests.golden.streams import lifted, native, workers
from tests.golden.streams.record import Stream, record

GOLDEN = Path(__file__).with_name("streams.json")
GROUPS = {"workers": workers.CASES, "native": native.CASES, "lifted": lifted.CASES}


def streams(names: Collection[str] = ()) -> dict[str, Stream]:
    """Digests by group and case, of these names or of all, each begun with the same seeds."""
    digests = {}
    for group, cases in GROUPS.items():
        for name, case in cases.items():
            if names and f"{group}/{name}" not in names:
                continue
            torch.manual_seed(4)
            random.seed(4)
            np.random.seed(4)
            with tempfile.TemporaryDirectory() as root:
                digests[f"{group}/{name}"] = record(case(Path(root)))
    return digests


def main() -> None:
    """Writes the file, or another one."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    digests = streams(sys.argv[2:])
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
    lines = [f'  "{name}": {json.dumps(stream)}' for name, stream in digests.items()]
    file.write_text(f'{{"commit": "{commit}", "streams": {{\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
