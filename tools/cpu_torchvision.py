"""Makes torchvision importable beside a torch that was built without CUDA.

torchvision's wheels are linked with CUDA's libraries. Where these are missing, its compiled
operators do not load, which most of it can do without; but it describes two of them to torch while
it is imported, and torch refuses to hear of operators that do not exist. So their schemas are
registered first. Nothing of torchvision itself changes: transforms, datasets and models are the
original code, and a call of such an operator says that no backend implements it.

Run as a program (``python tools/cpu_torchvision.py``) it tries the import, and where that
fails, installs itself into the environment of the interpreter that runs it.
"""

import sys  # and nothing else: every Python of the environment reads this file when it starts

#: The operators that torchvision describes whether or not they have loaded.
SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_libraries = []  # a registration lasts as long as its object


class _Registrar:
    """Registers what is missing when torchvision comes to its descriptions; finds no module."""

    def find_spec(self, fullname, path=None, target=None):  # noqa: ARG002
        if fullname == "torchvision._meta_registrations":
            sys.meta_path.remove(self)
            _register()


def _register() -> None:
    import logging

    import torch
    from torchvision.extension import _has_ops

    if _has_ops():
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in SCHEMAS.items():
        library.define(name + schema)
    _libraries.append(library)
    names = ", ".join(SCHEMAS)
    logging.getLogger("torchvision").info("no compiled operators; registered by name: %s", names)


def _import_fails() -> bool:
    import subprocess

    command = [sys.executable, "-c", "import torchvision"]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


def main() -> int:
    """Install into this environment, if it needs that; 1 where it does not help."""
    import importlib.util
    import shutil
    import sysconfig
    from pathlib import Path

    if importlib.util.find_spec("torchvision") is None or not _import_fails():
        return 0
    source, site = Path(__file__), Path(sysconfig.get_path("purelib"))
    shutil.copyfile(source, site / source.name)
    (site / f"{source.stem}.pth").write_text(f"import {source.stem}\n")
    if _import_fails():
        print("torchvision: cannot be imported in this environment", file=sys.stderr)
        return 1
    print("torchvision: its compiled operators do not load without CUDA, the rest of it works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
else:
    sys.meta_path.insert(0, _Registrar())
