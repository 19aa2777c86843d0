"""``drapps analyze``: the script of a training runs up to its loader, is measured, and ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from drapps.cli import main
from python.tests.watch_scripts import environment

pytest.importorskip("torch")

SCRIPT = """
import os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Subset

class Samples(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.zeros(8)

def main():
    print("analyzed:", os.environ["DRAPPS_ANALYZE"])
    with torch.no_grad():
        for batch in DataLoader(Subset(Samples(), range(40)), batch_size=40):
            print("validated")
    loader = DataLoader(Samples(), batch_size=4, num_workers=WORKERS)
    for epoch in range(10):
        for batch in loader:
            assert batch.shape == (4, 8)
            time.sleep(0.004)
            STEP
    print("never reached")

if __name__ == "__main__":
    try:
        main()
    finally:
        print("cleaned up")
"""


def analyze(folder, *options, step="pass", workers=0, script=SCRIPT, words=("train.py",)):
    text = script.replace("STEP", step).replace("WORKERS", str(workers))
    (folder / "train.py").write_text(text)
    command = [sys.executable, "-m", "drapps", "analyze", *options, "--", sys.executable, *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "Traceback" not in done.stderr or step != "pass", done.stderr
    return done


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """An analysis with its output, of a training that loads in turn with its steps."""
    folder = tmp_path_factory.mktemp("before")
    options = ["--json", "a.json", "--html", "a.html", "--steps", "8", "--seconds", "1"]
    return folder, analyze(folder, *options, "--what-if", "cores=2,accelerator=2")


def test_a_script_is_measured_and_ended(before):
    folder, done = before
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["analyzed: 1", "validated", "cleaned up"]
    assert "5 of 5" in done.stderr and "what if cores=2, accelerator=2: " in done.stderr
    stored = json.loads((folder / "a.json").read_text())
    assert list(stored["phases"]) == ["as_it_is", "training", "prepared", "cold", "storage"]
    assert stored["about"]["command"] == [sys.executable, "train.py"]
    assert stored["about"]["loader"]["num_workers"] == 0
    page = (folder / "a.html").read_text()
    assert "<svg" in page and "measured" in page and "What would help?" in page


def test_what_is_stored_is_told_again_and_not_measured_again(before, capsys):
    folder, done = before
    assert main(["analyze", str(folder / "a.json")]) == 0
    report = capsys.readouterr().out.strip()
    assert report in done.stderr
    assert "waits for" in report and "num_workers=" in report

    again = analyze(folder, "--json", "a.json", "--steps", "8", "--seconds", "1")
    assert again.returncode == 0 and "of 5" not in again.stderr and report in again.stderr


@pytest.mark.full
def test_what_is_stored_of_another_training_is_refused(before):
    folder, _ = before
    other = analyze(folder, "--json", "a.json", words=("train.py", "--other"))
    assert other.returncode == 1 and "another training" in other.stderr


@pytest.mark.full
def test_what_was_predicted_is_checked_afterwards(before, tmp_path, capsys):
    folder, _ = before
    options = ["--steps", "8", "--seconds", "1", "--json", "b.json"]
    done = analyze(tmp_path, *options, "--compare", str(folder / "a.json"), workers=2)
    assert done.returncode == 0, done.stderr
    assert "beside the training" in done.stderr and "prepared on 2 cores, not 1" in done.stderr
    assert "were predicted" in done.stderr and "held" in done.stderr
    assert main(["analyze", str(folder / "a.json"), str(tmp_path / "b.json")]) == 0
    assert "were predicted" in capsys.readouterr().out


def test_stored_analyses_are_compared_and_those_without_sense_refused(before, tmp_path, capsys):
    stored = json.loads((before[0] / "a.json").read_text())
    stored["about"]["in_turn"] = False
    (tmp_path / "b.json").write_text(json.dumps(stored))
    assert main(["analyze", str(before[0] / "a.json"), str(tmp_path / "b.json")]) == 0
    output = capsys.readouterr().out
    assert "beside the training" in output and "were predicted" in output
    del stored["phases"]["cold"]
    (tmp_path / "c.json").write_text(json.dumps(stored))
    assert main(["analyze", str(tmp_path / "c.json")]) == 1
    assert "c.json: the analysis is not complete: cold is missing" in capsys.readouterr().err
    del stored["about"]["machine"]
    stored["phases"]["cold"] = {}
    (tmp_path / "c.json").write_text(json.dumps(stored))
    assert main(["analyze", str(tmp_path / "c.json")]) == 1
    assert "c.json: the analysis makes no sense" in capsys.readouterr().err


def test_a_script_that_fails_or_ends_early_says_so(tmp_path):
    failed = analyze(tmp_path, "--json", "a.json", "--seconds", "1", step="batch.no_such()")
    assert failed.returncode == 1
    assert "AttributeError" in failed.stderr and "status 1 before all" in failed.stderr
    none = analyze(tmp_path, script="print('nothing')")
    assert none.returncode == 1 and "drapps.analyze(loader, step)" in none.stderr
    assert none.stdout == "nothing\n"


@pytest.mark.full
def test_a_script_that_ends_in_its_steps_or_fails_in_its_dataset_says_so(tmp_path):
    ended = analyze(tmp_path, "--seconds", "1", step="sys.exit(0)")
    assert ended.returncode == 1 and "status 0 before all" in ended.stderr
    gone = "return open('gone') if torch.is_grad_enabled() else torch.zeros(8)"
    missing = SCRIPT.replace("return torch.zeros(8)", gone)
    unread = analyze(tmp_path, "--seconds", "1", step="pass #", script=missing)
    assert unread.returncode == 1 and "FileNotFoundError" in unread.stderr
    assert "status 1 before all" in unread.stderr


def test_ranks_are_sent_to_watch(capsys):
    assert main(["analyze", "--", "torchrun", "--nproc-per-node", "2", "train.py"]) == 1
    assert "drapps watch" in capsys.readouterr().err
    words = ["python", "-m", "torch.distributed.run", "train.py"]
    assert main(["analyze", "--", *words]) == 1
    assert "drapps watch" in capsys.readouterr().err


@pytest.mark.full
def test_a_script_of_a_rank_is_sent_to_watch(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = analyze(tmp_path, "--seconds", "1")
    assert done.returncode == 1 and "drapps watch" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 1, "nothing to run"),
        (["no-such.json"], 1, "no-such.json: No such file"),
        (["a.json", "b.json", "c.json"], 1, "are more"),
        (["--what-if", "colour=3", "--", "x"], 2, "no change of one of cache"),
        (["--what-if", "bandwidth=fast", "--", "x"], 2, "no number behind bandwidth"),
        (["--stall", "200%", "--", "x"], 2, "no share"),
        (["--cap", "90%", "--", "x"], 1, "too little"),
        (["--json", "plain.txt", "--", "python", "x.py"], 1, "plain.txt is no analysis"),
        (["--html", "a/b.html", "--", "no-such-program"], 1, "no-such-program cannot be run"),
    ],
)
def test_wrong_use(words, status, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("plain.txt").write_text("plain")
    if status == 2:
        with pytest.raises(SystemExit):
            main(["analyze", *words])
    else:
        assert main(["analyze", *words]) == status
    assert message in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["plain.txt"]
