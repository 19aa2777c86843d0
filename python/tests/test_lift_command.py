"""``drapps lift SCRIPT``, run as users do."""

import json
import os
import subprocess
import sys

import pytest

from drapps.cli import main
from python.tests.cells import full, some_full
from python.tests.ranks import TORCH, run_forked

pytest.importorskip("torchvision")

SCRIPT = """
import atexit, sys
from pathlib import Path

from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets, transforms
import torch

photos, out = Path(sys.argv[1]), Path(sys.argv[2])
atexit.register(lambda: (out / "atexit").touch())

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 9
    def __getitem__(self, index):
        return index**2

class Mine(DataLoader):
    pass

print("hello from the script")
to_size = transforms.Compose([transforms.Resize((24, 24)), transforms.ToTensor()])
train = DataLoader(datasets.ImageFolder(photos, to_size), batch_size=4, shuffle=True)
evaluate = Mine(Squares(), 3, num_workers=2)
assert isinstance(train, torch.utils.data.DataLoader) and isinstance(evaluate, DataLoader)
try:
    for batch in train:
        (out / "stepped").touch()
except BaseException:
    (out / "caught").touch()
finally:
    (out / "saved").touch()
"""


@pytest.fixture
def lift(tmp_path, photos):
    """Runs the command on a script's text; what it wrote, and its result."""
    out = tmp_path / "out"
    out.mkdir()

    def run(script, *options, named="train.py", forked=True):
        (tmp_path / "train.py").write_text(script)
        words = ["-m", "drapps.cli", "lift", *options, named, photos, out]
        if forked:
            done = run_forked(words, tmp_path, TORCH)
            return done, sorted(path.name for path in out.iterdir())
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        )
        return done, sorted(path.name for path in out.iterdir())

    return run


@pytest.mark.parametrize(
    ("options", "named", "forked"),
    # FORK has -m below, and the test of an interrupted script an interpreter of its own.
    [((), "train.py", True), full(((), "train.py", False)), full((("-m",), "train", False))],
)
def test_each_loader_is_told_of_and_nothing_behind_the_first_iter_runs(
    lift, options, named, forked
):
    done, written = lift(SCRIPT, "--json", *options, named=named, forked=forked)
    assert (done.returncode, written) == (0, [])
    assert "hello from the script" in done.stderr
    answer = json.loads(done.stdout)
    train, evaluate = answer["loaders"]
    assert train["native"] and train["batch_size"] == 4
    assert train["made_at"].startswith("train.py:")
    assert [op.split("(")[0] for op in train["transforms"]] == ["Resize", "ToTensor"]
    assert not evaluate["native"] and evaluate["num_workers"] == 2 and evaluate["reasons"]
    line = 1 + SCRIPT.splitlines().index("    for batch in train:")
    assert answer["stopped"] == f"the first iter(), at train.py:{line}"


def test_people_get_a_summary(lift):
    done, _ = lift(SCRIPT)
    assert done.returncode == 0
    assert "batch_size=4, num_workers=0\nlifted: " in done.stdout
    assert "not lifted: the dataset's own Python code runs\n  because " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 of 2 loaders would run natively. Stopped: ")


def test_a_script_that_iterates_nothing_is_told_of_too(lift):
    done, written = lift(SCRIPT[: SCRIPT.index("try:")], "--json")
    assert (done.returncode, written) == (0, ["atexit"])
    answer = json.loads(done.stdout)
    assert len(answer["loaders"]) == 2
    assert answer["stopped"] == "the script ended, and no loader was iterated"


def test_a_script_that_fails_is_a_failure_which_tells_what_it_had_made(lift):
    done, _ = lift(SCRIPT.replace("try:", "1 / 0\ntry:"), "--json")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["loaders"]) == 2
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("drapps: train.py was not seen up to its first")


@pytest.mark.parametrize(
    ("script", "why"), [("x = 1", "made no DataLoader"), ("raise SystemExit(3)", "it ended with 3")]
)
def test_without_a_loader_there_is_nothing_to_tell(lift, script, why):
    done, _ = lift(script)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr


FORKED = 'start_processes(print, start_method="fork")'


# Processes that are spawned import all that the script does: a test below has them.
@pytest.mark.parametrize("call", some_full([FORKED, "spawn(print)"], FORKED))
def test_processes_of_the_script_do_not_begin_to_train(lift, call):
    body = SCRIPT.replace("try:", f"torch.multiprocessing.{call}\ntry:")
    done, written = lift(body, "--json")
    assert (done.returncode, written) == (0, [])
    answer = json.loads(done.stdout)
    assert "starts processes of its own at train.py:" in answer["stopped"]
    assert len(answer["loaders"]) == 2


def test_a_file_that_is_not_there_is_named(capsys):
    assert main(["lift", "nowhere.py"]) == 1
    assert capsys.readouterr().err == "drapps: there is no file nowhere.py\n"


RANKS = """
import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

out = Path(sys.argv[2])

class Mine(DataLoader):
    pass

def train(rank, sizes):
    for size in sizes:
        loader = Mine(TensorDataset(torch.arange(9)), batch_size=size)
    (out / "stepped").touch() if sizes and next(iter(loader)) else None

if __name__ == "__main__":
    {start}
    (out / "saved").touch()
"""


SPAWN = "torch.multiprocessing.spawn(train, ([2, 3],), nprocs=2)"
FORK = 'torch.multiprocessing.start_processes(train, ([2, 3],), 2, True, False, "fork")'


@pytest.mark.parametrize(
    ("start", "options"),
    [(SPAWN, ()), (FORK, ("-m",)), full((SPAWN, ("-m",)))],
)
def test_the_loaders_of_processes_that_a_script_starts_are_told_of(lift, start, options):
    named = "train" if options else "train.py"
    done, written = lift(RANKS.format(start=start), "--json", *options, named=named)
    assert (done.returncode, written) == (0, []), done.stderr
    answer = json.loads(done.stdout)
    assert [each["batch_size"] for each in answer["loaders"]] == [2, 3]
    line = 1 + RANKS.splitlines().index(
        "        loader = Mine(TensorDataset(torch.arange(9)), batch_size=size)"
    )
    assert {each["made_at"] for each in answer["loaders"]} == {f"train.py:{line}"}
    assert "starts processes of its own at train.py:" in answer["stopped"]
    assert "of which 2 ran up to their first iter()" in answer["stopped"]


def test_a_process_that_a_script_forks_is_seen_too(lift):
    start = "p = torch.multiprocessing.Process(target=train, args=(0, [4])); p.start(); p.join()"
    done, written = lift(RANKS.format(start=start), "--json")
    assert (done.returncode, written) == (0, ["saved"])
    (loader,) = json.loads(done.stdout)["loaders"]
    assert loader["batch_size"] == 4


FAILED = "of which 2 of 2 failed before an iter(); what they said stands on stderr"


@pytest.mark.parametrize(
    ("start", "why"),
    [
        full((SPAWN.replace("[2, 3]", "[]"), "to their first iter() or to their end")),
        full((SPAWN.replace("[2, 3]", "5"), FAILED)),
        (FORK.replace("[2, 3]", "5"), FAILED),
    ],
)
def test_processes_without_a_loader_are_said_to_have_none(lift, start, why):
    done, written = lift(RANKS.format(start=start))
    assert (done.returncode, done.stdout, written) == (1, "", [])
    last = done.stderr.splitlines()[-1]
    assert last.startswith("drapps: train.py made no DataLoader: the script starts processes")
    assert last.endswith(why)
