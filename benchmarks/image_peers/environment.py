"""The Python environments of the rivals, each made of exact pins on its first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.contestant import ROOT

_PINS = Path(__file__).resolve().parent / "requirements"


class CannotRunError(RuntimeError):
    """A rival cannot run here; the message says why."""


def ensure(name: str | None, folder: Path = _PINS) -> str:
    """The interpreter of the environment of that name; of this one's where there is none.

    Its pins are in `folder`.

    Raises:
        CannotRunError: it cannot be made here.
    """
    if name is None:
        return sys.executable
    done = subprocess.run(
        [ROOT / "tools/peer_env.sh", folder.relative_to(ROOT), name],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotRunError((done.stderr.strip() or "it cannot be made").splitlines()[-1])
    return str(ROOT / "build/bench/envs" / name / "bin/python")


def versions(name: str | None, packages: tuple[str, ...], folder: Path = _PINS) -> str:
    """What an environment's pins say of these packages, to be read by people."""
    if name is None:
        return ""
    pins = dict(
        line.split("==", 1)
        for file in sorted(folder.glob(f"{name}*.txt"))
        for line in file.read_text().split()
        if "==" in line
    )
    return ", ".join(f"{package} {pins[package]}" for package in packages)


def pins(folder: Path = _PINS) -> str:
    """All pins, for a digest."""
    return "".join(file.read_text() for file in sorted(folder.glob("*.txt")))
