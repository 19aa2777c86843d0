"""Versions of what is installed, and the GPU as torch sees it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator

import drapps
from drapps.doctor.finding import NOTE, PROBLEM, Finding

_SHOWN = ("torch", "torchvision", "Pillow", "numpy", "tensorflow", "jax", "py-spy")
_LEAST = {"torch": (2, 6), "numpy": (1, 26), "tensorflow": (2, 20), "jax": (0, 6)}
_GPU_S = 60.0

# In a process of its own: the one that asks is to have no context on a device.
_GPU = """
import json, torch
there = torch.cuda.is_available()
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if there else []
print(json.dumps({"names": names, "cuda": torch.version.cuda}))
"""


def findings() -> Iterator[Finding]:
    """All of them."""
    yield Finding("DRAPPS", f"{drapps.__version__}, Python {platform.python_version()}")
    yield Finding("kernel", platform.release())
    for name in _SHOWN:
        found = version(name)
        if found is not None:
            yield found
    yield gpu()


def version(name: str) -> Finding | None:
    """Of an installed package; None where it is not there."""
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    least = _LEAST.get(name)
    if least is None:
        return Finding(name, found)
    numbers = tuple(int(part) for part in found.split("+")[0].split(".")[:2] if part.isdigit())
    if numbers >= least:
        return Finding(name, found)
    wanted = ".".join(map(str, least))
    return Finding(name, found, PROBLEM, f"pip install '{name}>={wanted}'")


def gpu() -> Finding:
    """Those that torch can use; and one that is there, and torch cannot."""
    driver = shutil.which("nvidia-smi") or (os.path.exists("/dev/nvidia0") and "/dev/nvidia0")  # noqa: PTH110
    if importlib.util.find_spec("torch") is None:
        return Finding("GPU", "torch is not installed, which would be asked")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _GPU], capture_output=True, text=True, check=True, timeout=_GPU_S
        )
        told = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        return Finding("GPU", f"torch does not say: {error}", NOTE, "python -c 'import torch'")
    if told["names"]:
        return Finding("GPU", f"{', '.join(told['names'])}; CUDA {told['cuda']}")
    if not driver:
        return Finding("GPU", "none")
    if told["cuda"] is None:
        mend = "install a build of torch with CUDA: pip install torch, from its CUDA index"
        return Finding("GPU", "there is one, and this torch is built without CUDA", PROBLEM, mend)
    mend = "update the driver, and in a container run with --gpus=all"
    return Finding("GPU", "there is one, and torch cannot use it", PROBLEM, mend)
