"""Tests of the Python package on an extension module with sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

from suites.run import ROOT, Run

BUILD = ROOT / "build/asan"
CHECKOUT = BUILD / "checkout"
_OPTIONS = {  # Python itself leaks what it has at its end
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def checkout() -> None:
    """Make a folder of links to the files of this checkout, but for the extension module."""
    package = CHECKOUT / "python/drapps"
    shutil.rmtree(CHECKOUT, ignore_errors=True)
    package.mkdir(parents=True)
    _link(ROOT, CHECKOUT)
    _link(ROOT / "python", CHECKOUT / "python")
    _link(BUILD / "python/src/drapps", package)
    _link(ROOT / "python/drapps", package)


def _link(files: Path, place: Path) -> None:
    """Link what is not there yet."""
    for path in files.iterdir():
        name = place / path.name
        if not name.exists() and not path.name.startswith("."):
            name.symlink_to(path)


def pytest(run: Run, *files: str) -> None:
    """Build the extension module, and run the tests of these files on it."""
    run.build("asan-extension", "_core")
    checkout()
    library = subprocess.run(
        ["clang++-19", "-print-file-name=libclang_rt.asan-x86_64.so"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    run.pytest_by_file(
        [f"--rootdir={CHECKOUT}"],
        [str(CHECKOUT / file) for file in files],
        LD_PRELOAD=library,
        PYTHONPATH=os.pathsep.join([str(CHECKOUT / "python"), str(CHECKOUT)]),
        **_OPTIONS,
    )
