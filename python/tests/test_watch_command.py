"""``drapps watch -- COMMAND``: the command runs as without, and what it waits for is found."""

import html
import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

from python.tests.cells import some_full
from python.tests.watch_scripts import (
    HEAD,
    TAIL,
    WITHOUT_TORCH,
    environment,
    plain,
    script,
    undisturbed,
    watched,
)

pytest.importorskip("torch")

# Where each sleeps, per batch of four samples, with what the report is to say of it.
CAUSES = {
    "storage": {"READ": 0.01},
    "decode": {"DECODE": 0.01},
    "transform": {"TRANSFORM": 0.01},
    "collate": {"COLLATE": 0.04},
}


@pytest.mark.parametrize("stage", some_full(CAUSES, "storage"))
def test_a_sleeping_stage_is_found_with_its_line(stage, tmp_path):
    text = script(STEP=0.01, **CAUSES[stage])
    others = set(CAUSES) - {stage}

    def share(report):
        return report["stages"].get(stage, 0) / (1 - report["stages"].get("hand-over", 0))

    done, report = undisturbed(
        text,
        tmp_path,
        lambda report: (
            report["verdict"] == stage
            and share(report) > 0.9
            and all(report["stages"].get(other, 0) <= 0.03 for other in others)
        ),
    )
    assert report["data_bound"] and report["verdict"] == stage
    # A batch takes 40 ms, a step 10: the rest is waited for.
    assert report["stall"] == pytest.approx(0.75, rel=0.1)
    assert share(report) > 0.9
    assert all(report["stages"].get(other, 0) <= 0.03 for other in others)
    assert report["sentence"] in done.stderr
    sleeps = f"time.sleep({next(iter(CAUSES[stage]))})"
    line = next(number for number, each in enumerate(text.splitlines(), 1) if sleeps in each)
    assert report["lines"][0]["line"].endswith(f"train.py:{line}")


@pytest.mark.full
def test_two_sleeping_stages_share_the_blame(tmp_path):
    done, report = watched(script(STEP=0.01, READ=0.01, DECODE=0.01, STEPS=90), tmp_path)
    assert done.returncode == 0
    assert report["stages"]["storage"] == pytest.approx(0.5, abs=0.15)
    assert report["stages"]["decode"] == pytest.approx(0.5, abs=0.15)


def test_a_training_that_computes_does_not_wait(tmp_path):
    text = script(STEP=0.25, READ=0.001, STEPS=24)
    done, report = undisturbed(text, tmp_path, lambda report: report["stall"] < 0.045)
    assert report["data_bound"] is False and report["verdict"] == "step"
    assert report["stall"] < 0.045 and report["action"]
    assert "does not wait for data" in done.stderr


@pytest.mark.full
def test_without_workers_the_process_itself_is_looked_at(tmp_path):
    done, report = watched(script(workers=0, STEP=0.01, READ=0.01), tmp_path)
    assert done.returncode == 0
    assert report["verdict"] == "no-workers" and "num_workers=" in report["action"]
    assert "reading its samples from storage" in report["sentence"]
    assert report["stages"]["storage"] > 0.8
    assert report["ranks"][0]["workers"] == 0


@pytest.mark.full
def test_loaders_that_are_made_for_each_pass_are_one(tmp_path):
    text = f"""{HEAD}
STEP = 0.02
def run(samples):
    for batch in DataLoader(samples, batch_size=4):
        time.sleep(STEP)
for epoch in range(4):
    run(torch.zeros(80, 2))
    with torch.no_grad():
        run(torch.zeros(20, 2))
"""
    done, report = watched(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert report["ranks"][0]["steps"] == 4 * 19
    assert report["ranks"][0]["gaps_s"] < 0.5


@pytest.mark.full
def test_spawned_workers_are_measured_too(tmp_path):
    text = script(STEP=0.01, READ=0.01, STEPS=50)
    text = text.replace("num_workers=WORKERS", "num_workers=1, multiprocessing_context='spawn'")
    done, report = watched(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert report["stages"]["storage"] > 0.8 and report["ranks"][0]["workers"] == 1


SAME = {
    "an error in the loop": TAIL.replace("        time.sleep(STEP)", "        batch.no_such()"),
    "an error in a worker": "class Photos(Dataset):\n    def __len__(self):\n        return 9\n"
    "    def __getitem__(self, index):\n        return [1][index]\n" + TAIL,
    "an error while it collates": "def collate(samples):\n    return samples[9]\n" + TAIL,
    "an exit status": TAIL.replace("        time.sleep(STEP)", "        sys.exit(3)"),
    "a caught error": TAIL.replace(
        "        time.sleep(STEP)",
        "        import traceback\n        try:\n            next(iter(loader.dataset[None]))\n"
        "        except Exception:\n            traceback.print_exc(); break",
    ),
}


@pytest.mark.parametrize(
    ("what", "workers"),
    some_full(itertools.product(SAME, (0, 1)), ("an error in a worker", 1)),
)
def test_a_script_behaves_as_without(what, workers, tmp_path):
    text = f"{HEAD}\nSTEPS = 3\nWORKERS = {workers}\nprint('hello')\n{SAME[what]}"
    alone = plain(text, tmp_path)
    done, _ = watched(text, tmp_path, "--quiet")
    assert done.stdout == alone.stdout and done.returncode == alone.returncode
    output = done.stderr.split("drapps: ", maxsplit=1)[0]  # which tells what was not measured
    assert output == alone.stderr


def test_the_users_sitecustomize_runs_and_the_path_is_his(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.of_the_user = 7\n")
    text = "import sys, os\nprint(of_the_user, sys.path, sys.modules['sitecustomize'].__file__)\n"
    alone = plain(text, tmp_path)
    done, _ = watched(text, tmp_path)
    assert alone.stdout.startswith("7 ") and done.stdout == alone.stdout


def test_without_a_sitecustomize_there_is_none(tmp_path):
    text = "import sys\nprint('sitecustomize' in sys.modules)\n"
    alone = plain(text, tmp_path)
    done, _ = watched(text, tmp_path)
    assert done.stdout == alone.stdout and done.returncode == 0
    assert "no batch was taken" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_the_script_and_end_the_command_as_they_end_it(number, tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "drapps", "watch", "--", sys.executable, "train.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        child = int(process.stdout.readline())
        if number == signal.SIGKILL:
            os.kill(child, number)
        else:
            process.send_signal(number)
        process.wait(60)
    assert process.returncode == -number
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the script goes on")


def test_it_fails_where_a_criterion_holds_and_compares(tmp_path):
    text = f"READ = 0.06\n{WITHOUT_TORCH}"
    done, report = watched(text, tmp_path, "--fail-if", "stall>5%", "--html", "page.html")
    shown = (tmp_path / "page.html").read_text()
    assert (
        html.escape(report["sentence"]) in shown and "Stall over time" in shown and "<svg" in shown
    )
    assert "http" not in shown and "<script" not in shown
    assert done.returncode == 1
    assert f"stall>5%: stall is {report['stall']:.1%}" in done.stderr
    (tmp_path / "told.json").rename(tmp_path / "before.json")
    options = ("--compare", "before.json", "--fail-if", "stall>60%")
    done, _ = watched(f"READ = 0.001\n{WITHOUT_TORCH}", tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert "It should have become up to" in done.stderr and "it did." in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "there is nothing to run"),
        (["--", "no-such-program"], "no-such-program cannot be run: No such file"),
        (["--fail-if", "speed", "true"], "argument --fail-if: 'speed' is no criterion: write one"),
        (["--compare", "absent.json", "--", "true"], "absent.json: No such file"),
    ],
)
def test_what_cannot_be_run_is_one_line(words, complaint, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "drapps", "watch", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert done.returncode == (2 if "argument" in complaint else 1)
    assert done.stderr.startswith(f"drapps: {complaint}") and done.stderr.count("\n") == 1
