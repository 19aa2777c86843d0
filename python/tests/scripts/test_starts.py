"""Scripts started as files, from standard input as notebooks do, by ``python -c``, strictly."""

import json
import subprocess
import sys

import pytest

from python.tests.scripts.compare import difference, promised_by_default
from python.tests.scripts.compose import LOADERS, case_of
from python.tests.scripts.runner import ROOT, environment

WAYS = ["file", "stdin", "command", "strict"]
SPAWNED = """
{loader}
from python.tests.torch_contract.samples import Squares, plain

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        loader = DataLoader(Squares(5), 2, num_workers=1, multiprocessing_context=method)
        print(plain(loader), plain(loader))
"""


def started(text, way, folder):
    """Exit status, output and errors of a script."""
    path = folder / "script.py"
    path.write_text(text)
    words, given = {
        "file": ([path], None),
        "stdin": (["-"], text),
        "command": (["-c", text], None),
        "strict": (["-W", "error", path], None),
    }[way]
    return subprocess.run(
        [sys.executable, *words],
        input=given if given is not None else "",
        env={**environment(), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def as_run(done):
    """As `Runner.run` gives it."""
    lines = done.stdout.splitlines()
    log = json.loads(lines[-1]) if lines else None
    return {"status": done.returncode, "log": log, "printed": done.stderr, "left": False}


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [7, 23, 38, 71])
def test_a_generated_script_does_as_with_stock(seed, way, tmp_path):
    case = case_of(seed)
    stock, ours = (
        as_run(started(case.text(loader), way, tmp_path)) for loader in ("stock", "default")
    )
    assert not difference(promised_by_default(case, ours), stock, ours)


# From standard input, workers look for a file that is not there.
@pytest.mark.full
@pytest.mark.parametrize("way", ["file", "command", "strict"])
def test_workers_that_import_the_script_anew(way, tmp_path):
    stock, ours = (
        started(SPAWNED.format(loader=LOADERS[loader]), way, tmp_path)
        for loader in ("stock", "default")
    )
    assert stock.returncode == 0, stock.stderr
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, stock.stdout, stock.stderr)
