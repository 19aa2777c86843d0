"""torchvision's compiled decoders, where its wheel needs CUDA's libraries and they are not here."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import torch
import torchvision
from torchvision.io import image

_OF_TORCH = ("libc10_cuda.so", "libtorch_cuda.so")  # the wheel has the others


def load(folder: Path) -> None:
    """Loads them, beside libraries of torch's that only have the names, made in a folder.

    Whatever calls CUDA then crashes; decoding on the CPU does not.
    """
    if image._has_image_ops():
        return
    library = Path(torchvision.__file__).with_name("image.so")
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    names = re.findall(r"\b_ZNK?(?:3c10|2at)4cuda\w+", listed.stdout)
    source = folder / "names.c"
    source.write_text("".join(f"void *{name}[64];\n" for name in names))
    for name in _OF_TORCH:
        stub = folder / name
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", stub, source]
        subprocess.run(command, check=True)
        ctypes.CDLL(str(stub), ctypes.RTLD_GLOBAL)
    torch.ops.load_library(str(library))
    image._has_image_ops = lambda: True
