"""Programs in C++ that scenarios run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.contestant import ROOT, ContestantError


def build(target: str, root: Path = ROOT, folder: str = "benchmarks") -> Path:
    """Builds a program as it would be shipped; returns where it is.

    Args:
        target: its name.
        root: of a checkout.
        folder: of the CMakeLists.txt that says what it is made of.

    Raises:
        ContestantError: it does not build; the message says where the compiler's stand.
    """
    log_file = root / f"build/bench/{target}.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("w") as log:
        for step in ([], ["--build"]):
            what = ["--target", target] if step else []
            command = ["cmake", *step, "--preset", "release", *what]
            done = subprocess.run(command, cwd=root, stdout=log, stderr=log, check=False)
            if done.returncode:
                raise ContestantError(f"{target} does not build, see {log_file}")
    return root / "build/release" / folder / target
