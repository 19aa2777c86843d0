"""torchvision.io natively: its own tests, where torchvision's decoders load."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.image_peers import environment
from benchmarks.own_datasets.cases import PINS
from python.tests.ranks import PACKAGES

QUICK, FULL = 60, 20_000  # random calls
SHARES = 20  # tests among which the full ones are divided


def run(interpreter, calls, request, *chosen, **more):
    command = [interpreter, "-m", "pytest", "-q", "python/tests/torchvision_io_calls.py"]
    command += ["-m", request.config.getoption("markexpr"), *chosen]
    own = {"PYTHONPATH": str(PACKAGES), "DRAPPS_TEST_CALLS": f"{calls.start} {calls.stop}"}
    own |= more
    done = subprocess.run(
        command,
        cwd=PACKAGES.parent,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_holds_in_a_process_that_has_them(torchvision, request):  # noqa: ARG001
    run(sys.executable, range(QUICK), request)


@pytest.fixture(scope="module")
def native():
    """How many calls of each share were answered natively."""
    return []


@pytest.mark.full
@pytest.mark.parametrize("share", range(SHARES))
def test_it_holds_in_an_environment_where_they_load_by_themselves(share, native, request, tmp_path):
    calls = range(share * FULL // SHARES, (share + 1) * FULL // SHARES)
    chosen = [] if share == 0 else ["-k", "random"]
    own = environment.ensure("torchvision", PINS)
    run(own, calls, request, *chosen, DRAPPS_TEST_NATIVE=str(tmp_path / "native"))
    native.append(int((tmp_path / "native").read_text()))
    if len(native) == SHARES:  # each share has some 240 of 1,000, a little more or less
        assert sum(native) > FULL / 4
