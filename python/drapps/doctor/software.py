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
_NO_GPU = Finding("GPU", "none")

# In a process of its own: the one that asks is to have no context on a device.
_GPU = """
import json, torch
there = torch.cuda.is_available()
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if there else []
print(json.dumps({"names": names, "cuda": torch.version.cuda}))
"""


def findings() -> Iterator[Finding]:
    """All findings about software and the GPU."""
    yield Finding("DRAPPS", f"{drapps.__version__}, Python {platform.python_version()}")
    yield Finding("kernel", platform.release())
    for name in _SHOWN:
        finding = version(name)
        if finding is not None:
            yield finding
    device = gpu()
    yield device
    if device == _NO_GPU:
        yield openmp()


def version(name: str) -> Finding | None:
    """The version of an installed package; None where it is not there."""
    try:
        release = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    least = _LEAST.get(name)
    if least is None:
        return Finding(name, release)
    numbers = tuple(int(part) for part in release.split("+")[0].split(".")[:2] if part.isdigit())
    if numbers >= least:
        return Finding(name, release)
    wanted = ".".join(map(str, least))
    return Finding(name, release, PROBLEM, f"pip install '{name}>={wanted}'")


def gpu() -> Finding:
    """The GPUs that torch can use, or why it cannot use one that is there."""
    driver = shutil.which("nvidia-smi") or (os.path.exists("/dev/nvidia0") and "/dev/nvidia0")  # noqa: PTH110
    if importlib.util.find_spec("torch") is None:
        return Finding("GPU", "torch is not installed, which would be asked")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _GPU], capture_output=True, text=True, check=True, timeout=_GPU_S
        )
        answer = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        return Finding("GPU", f"torch does not say: {error}", NOTE, "python -c 'import torch'")
    if answer["names"]:
        return Finding("GPU", f"{', '.join(answer['names'])}; CUDA {answer['cuda']}")
    if not driver:
        return _NO_GPU
    if answer["cuda"] is None:
        mend = "install a build of torch with CUDA: pip install torch, from its CUDA index"
        return Finding("GPU", "there is one, and this torch is built without CUDA", PROBLEM, mend)
    mend = "update the driver, and in a container run with --gpus=all"
    return Finding("GPU", "there is one, and torch cannot use it", PROBLEM, mend)


def openmp() -> Finding:
    """Whether torch's threads keep their cores between two steps, where it trains on the CPU."""
    if os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE":
        return Finding("OpenMP", "threads of torch that wait leave their cores to others")
    detail = "threads of torch keep their cores while a training waits for a batch"
    mend = "to train on the CPU beside worker processes: export OMP_WAIT_POLICY=PASSIVE"
    return Finding("OpenMP", detail, NOTE, mend)
