"""Pack what a machine with a GPU and torch needs to check this checkout: build/gpu-kit/.

The folder stands alone: a wheel, the tests and benchmarks that use a device, some pictures, and
check.py, which compiles nothing and needs no network there: see gpu_check.py.
"""

import shutil
import sys
from pathlib import Path

from tools import wheel

ROOT = Path(__file__).resolve().parent.parent
KIT = ROOT / "build/gpu-kit"
PARTS = ["benchmarks", "demo", "python/tests", "pyproject.toml"]
MOST_BYTES = 50 << 20


def main() -> None:
    """Build the wheel of the stable ABI, and put everything side by side."""
    newest = max(wheel.pythons(), default=None)
    if newest is None or newest.version < wheel.STABLE_ABI:
        sys.exit("gpu-kit: there is no CPython >= 3.12 here, which its wheel is built with")
    wheel.DIST.mkdir(exist_ok=True)
    built = wheel.build(newest)
    shutil.rmtree(KIT, ignore_errors=True)
    for part in PARTS:
        source, copy = ROOT / part, KIT / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "results"))
        else:
            shutil.copy(source, copy)
    shutil.copy(built, KIT)
    shutil.copy(ROOT / "tools/wheel_trial.py", KIT)
    shutil.copy(ROOT / "tools/gpu_check.py", KIT / "check.py")
    wheel.draw_photos(KIT / "photos")
    size = sum(path.stat().st_size for path in KIT.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        sys.exit(f"gpu-kit: {size / 1e6:.0f} MB, more than the {MOST_BYTES / 1e6:.0f} MB it may be")
    print(f"{KIT.relative_to(ROOT)}: {size / 1e6:.1f} MB; there: python3 check.py")


if __name__ == "__main__":
    main()
