"""Suites of the core: they compile it, and run its C++ tests."""

import re

from suites import sanitized
from suites.interpreted import PICTURES
from suites.run import ROOT, Run

LAYERS = re.findall(r"^drapps_layer\((\w+)", (ROOT / "src/drapps/CMakeLists.txt").read_text(), re.M)

# They compute with floats: the same bits whatever compiles them. Sanitizers run all tests.
EXACT = ["kernel", "decode", "augment"]


def build(run: Run) -> None:
    """Build the core, its tests and the extension module."""
    tests = [f"{layer}_test" for layer in EXACT]
    run.build("release", *(["all", "benchmarks"] if run.full else ["_core_stub", *tests]))
    run.must("tools/setup.sh", "extension")
    run.counts.passed = 1


def cxx(run: Run) -> None:
    """Test the core as it is shipped; all of it in a full run."""
    if run.full:
        run.simd_levels("release", LAYERS, DRAPPS_TEST_FULL="1")
    else:
        run.simd_levels("release", EXACT)


def asan(run: Run) -> None:
    """Test the core, and in a full run the package, with the sanitizers of memory and behaviour."""
    run.build("asan")
    options = {"UBSAN_OPTIONS": "print_stacktrace=1"}
    if run.full:
        run.simd_levels("asan", LAYERS, **options)
        sanitized.pytest(run, *PICTURES)
    else:  # the tests of kernels and decoders name every level themselves
        run.gtest("asan", LAYERS, **options)


def fuzz(run: Run) -> None:
    """Fuzz every parser for a short time."""
    run.script("tools/fuzz.py", "--seconds", "120" if run.full else "2")


def tsan(run: Run) -> None:
    """Test what has threads with the thread sanitizer."""
    run.build("tsan")
    suppressed = ROOT / "tools/tsan_suppressions.txt"
    flags = "halt_on_error=1 second_deadlock_stack=1 die_after_fork=0"
    options = {"TSAN_OPTIONS": f"{flags} suppressions={suppressed}"}
    layers = ["shm", "exec", "storage", "decode", "deliver", "worker", "cache", "pipeline"]
    run.gtest("tsan", [*layers, "trace", "control", "text"], **options)
