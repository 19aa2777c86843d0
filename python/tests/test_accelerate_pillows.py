"""Pictures are made natively under older versions of Pillow, too: the tests of it, under each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from python.tests.ranks import PACKAGES

VERSIONS = ["10.4.0", "12.3.0"]  # pixels in an attribute; resizes in the pass order before 13
HERE = Path(__file__).parent
TESTS = [
    *(f"test_accelerate_{each}.py" for each in ("compose", "datasets", "here", "index", "opencv")),
    *(f"test_accelerate_{each}.py" for each in ("ends", "sequences", "workers")),
    *(f"test_accelerate_workers_{each}.py" for each in ("imports", "kept")),
    *("test_item_cache.py", "test_item_cache_dataset.py"),
    *("test_item_cache_memory.py", "test_item_cache_values.py"),
]
SEQUENCES = [
    f"test_accelerate_sequences.py::test_many_random_sequences_show_nothing_of_it[{kind}-{share}]"
    for kind in ("pillow", "v1", "v2")
    for share in (0, 1)
]
USED = "import PIL, sys; sys.exit(PIL.__version__ != sys.argv[1])"


@pytest.fixture(scope="module", params=VERSIONS)
def interpreter(request, tmp_path_factory):
    """Has a program run where this version is the one that is imported."""
    place = tmp_path_factory.mktemp("pillow")
    pip = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(place)]
    subprocess.run([*pip, f"pillow=={request.param}"], check=True)
    paths = os.pathsep.join([str(place), str(PACKAGES)])

    def run(*words):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=PACKAGES.parent,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    run("-c", USED, request.param)
    return run


@pytest.mark.full
@pytest.mark.parametrize("names", [TESTS, SEQUENCES], ids=["tests", "sequences"])
def test_all_of_it_holds(interpreter, names):
    marks = "full" if names is SEQUENCES else "not full"
    interpreter("-m", "pytest", "-q", "-m", marks, *(str(HERE / name) for name in names))
