"""Build a wheel for every CPython >= 3.10 on this machine into dist/ and try each one.

The kernels of devices are compiled by NVRTC and go into each (tools/gpu_kernels.py).

From 3.12 on one wheel serves all (the stable ABI). auditwheel copies the codecs into the wheel
under private names, so that they meet no other copy in the process. Each wheel is then installed
into clean environments, with NumPy alone and, where this Python has a build of torch without
CUDA, beside torch, and decodes photographs there.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build/wheel"
DIST = ROOT / "dist"
STABLE_ABI = (3, 12)  # as wheel.py-api in pyproject.toml
PROBE = """
import json, pathlib, sys, sysconfig
print(json.dumps([sys.implementation.name, sys.version_info[:2], sys._base_executable,
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()]))
"""


@dataclass(frozen=True, order=True)
class Python:
    """One CPython on this machine."""

    version: tuple[int, int]
    path: Path

    def __str__(self) -> str:
        return f"Python {self.version[0]}.{self.version[1]}"

    def environment(self, name: str) -> Path:
        """Make a fresh virtual environment and return its interpreter."""
        folder = WORK / f"{name}-{self.version[0]}.{self.version[1]}"
        shutil.rmtree(folder, ignore_errors=True)
        run(self.path, "-m", "venv", folder)
        return folder / "bin/python"


def run(*words: str | Path, **env: str) -> str:
    """Run a command and return what it wrote; on failure show that and leave."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nwheel: failed: {' '.join(map(str, words))}")
    return done.stdout


def pythons() -> list[Python]:
    """One interpreter for each version found, oldest first."""
    folders = [Path(p) for p in os.environ["PATH"].split(os.pathsep)]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    by_version: dict[tuple[int, int], Python] = {}
    for path in (p for f in folders for p in f.glob("python3.[0-9]*")):
        if not path.name.removeprefix("python3.").isdigit():  # such as python3.11-config
            continue
        probe = subprocess.run(
            [path, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if probe.returncode:  # a shim of a version that is not switched on
            continue
        kind, version, executable, free_threaded, headers = json.loads(probe.stdout)
        usable = kind == "cpython" and version >= [3, 10] and headers and not free_threaded
        if usable and tuple(version) not in by_version:
            by_version[tuple(version)] = Python(tuple(version), Path(executable))
    return sorted(by_version.values())


def pinned(*names: str) -> list[str]:
    """The requirement of each name, as pinned for running or for development."""
    files = [ROOT / f"tools/requirements/{name}.txt" for name in ("run", "dev")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    pins = {line.partition("==")[0]: line for line in lines}
    return [pins[name] for name in names]


def pip(python: Path, *words: str | Path) -> None:
    """Install something into an environment."""
    run(python, "-m", "pip", "--disable-pip-version-check", "-q", "install", *words)


def build(python: Python) -> Path:
    """Build the wheel for one interpreter and return where it lies in dist/."""
    builder = python.environment("builder")
    # typing_extensions: what writes the stub of the extension needs it on old Pythons
    pip(builder, *pinned("scikit-build-core", "nanobind"), "typing_extensions")
    raw = WORK / f"raw-{python.version[0]}.{python.version[1]}"
    shutil.rmtree(raw, ignore_errors=True)
    images = f"cmake.define.DRAPPS_KERNEL_IMAGES={kernel_images()}"
    wheel = ["-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", raw]
    run(builder, *wheel, "--config-settings", images, ".")
    repaired = raw / "repaired"
    auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", repaired]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run(*auditwheel, next(raw.glob("*.whl")), PATH=path)
    wheel_file = next(repaired.glob("*.whl"))
    check_contents(wheel_file)
    return Path(shutil.copy(wheel_file, DIST))


@cache
def kernel_images() -> Path:
    """The kernels of devices, compiled for GPUs."""
    images = WORK / "kernel_images.inc"
    run(sys.executable, "-m", "tools.gpu_kernels", images)
    return images


def check_contents(wheel: Path) -> None:
    """Leave where a wheel lacks a part, or holds one that it must not."""
    names = zipfile.ZipFile(wheel).namelist()
    bundled = [name for name in names if "drapps.libs/" in name]
    libraries = ("libjpeg", "libpng", "libwebp", "liburing", "liblz4", "libzstd", "libsimdjson")
    for library in (*libraries, "libsnappy"):
        if not any(f"/{library}" in name for name in bundled):
            sys.exit(f"wheel: {wheel.name} does not hold its own {library}: {bundled}")
    if stray := [name for name in bundled if "torch" in name or "python" in name]:
        sys.exit(f"wheel: {wheel.name} holds {stray}")
    for part in ("drapps/py.typed", "drapps/_core.pyi"):
        if part not in names:
            sys.exit(f"wheel: {wheel.name} lacks {part}")


def has_torch(python: Path, torch: str) -> bool:
    """Whether this Python has the pinned build of torch without CUDA."""
    words = ["-m", "pip", "-q", "install", "--dry-run", "--no-deps", "--only-binary=:all:", torch]
    return subprocess.run([python, *words], capture_output=True, check=False).returncode == 0


def try_out(python: Python, wheel: Path) -> None:
    """Install a wheel in clean environments and use it there."""
    trial = ROOT / "tools/wheel_trial.py"
    clean = python.environment("clean")
    pip(clean, wheel)
    print(f"{python}: {wheel.name}: {run(clean, '-I', trial, WORK / 'photos').strip()}")
    (torch,) = pinned("torch")
    if not has_torch(clean, torch):
        print(f"{python}: not tried with torch: there is no {torch} for it here")
        return
    pip(clean, torch)
    print(
        f"{python}: beside {torch}: {run(clean, '-I', trial, WORK / 'photos', '--torch').strip()}"
    )


def draw_photos(folder: Path) -> None:
    """Write one picture in each format, of one class each."""
    gradient = Image.linear_gradient("L").resize((96, 64))
    picture = Image.merge("RGB", (gradient, gradient.rotate(180), gradient))
    for suffix in ("jpg", "png", "webp"):
        (folder / suffix).mkdir(parents=True, exist_ok=True)
        picture.save(folder / suffix / f"picture.{suffix}")


def main() -> None:
    """Build and try all wheels."""
    draw_photos(WORK / "photos")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    stable: Path | None = None
    for python in pythons():
        if python.version < STABLE_ABI:
            wheel = build(python)
        else:
            wheel = stable = stable or build(python)
        try_out(python, wheel)
    for wheel in sorted(DIST.iterdir()):
        print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
