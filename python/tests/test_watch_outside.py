"""``drapps watch --pid``: a training that runs already."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from drapps.errors import PipelineError
from drapps.watching import outside, spying
from python.tests.watch_scripts import environment, script

RAW = """\
process 7:"python t.py";thread (7): MainThread;<module> (/a/t.py:9);_BaseDataLoaderIter.__next__ \
(/p/torch/utils/data/dataloader.py:725);Queue.get (/p/queue.py:3) 60
process 7:"python t.py";thread (7): MainThread;<module> (/a/t.py:11);step (/a/t.py:4) 40
process 7:"python t.py";process 8:"python t.py";thread (8): MainThread;\
_MapDatasetFetcher.fetch (/p/torch/utils/data/_utils/fetch.py:54);D.__getitem__ (/a/t.py:20);\
read_all (/a/t.py:30) 75
process 7:"python t.py";process 8:"python t.py";thread (8): MainThread;\
_MapDatasetFetcher.fetch (/p/torch/utils/data/_utils/fetch.py:57);default_collate (/p/c.py:1) 15
process 7:"python t.py";process 8:"python t.py";thread (8): MainThread;get (/p/queues.py:1) 10
process 7:"python t.py";process 8:"python t.py";thread (9): QueueFeederThread;run (/p/t.py:1) 100
nonsense
"""


@pytest.fixture
def seen(monkeypatch):
    """What py-spy has seen of a job that is not there."""
    stacks = list(spying.parse(RAW.splitlines()))
    monkeypatch.setattr(outside, "stacks_of", lambda *_: time.sleep(2.5) or stacks)
    monkeypatch.setattr(outside, "_tree", lambda _: [])


@pytest.mark.usefixtures("seen")
def test_stacks_are_told_apart():
    report = outside.watch_pid(7, 2)
    assert report.stall == pytest.approx(0.6) and report.data_bound
    assert report.stages == {"storage": pytest.approx(75 / 90), "collate": pytest.approx(15 / 90)}
    assert report.verdict == "storage" and report.lines[0]["line"] == "/a/t.py:30"
    assert report.step_lines[0]["line"] == "/a/t.py:4"
    assert "of the time" in str(report)


def test_a_process_that_trains_nothing_is_told(monkeypatch):
    stacks = list(spying.parse(RAW.splitlines()[-2:-1]))
    monkeypatch.setattr(outside, "stacks_of", lambda *_: stacks)
    with pytest.raises(PipelineError, match="is it training"):
        outside.watch_pid(os.getpid(), 1)


def test_what_is_missing_is_said(monkeypatch):
    with pytest.raises(PipelineError, match="there is no process 99999999"):
        spying.stacks_of(99999999, 1)
    monkeypatch.setattr(spying.shutil, "which", lambda *_, **__: None)
    with pytest.raises(PipelineError, match=r"pip install drapps\[watch\]"):
        spying.stacks_of(os.getpid(), 1)


def test_a_refusal_names_the_permission(monkeypatch):
    monkeypatch.setattr(spying.os, "geteuid", lambda: 12345)
    assert "belongs to another user" in spying._refused(os.getpid(), "no")
    monkeypatch.undo()
    assert "SYS_PTRACE" in spying._refused(os.getpid(), "no")


@pytest.mark.full
@pytest.mark.skipif(shutil.which("py-spy") is None, reason="py-spy is not installed")
def test_a_running_training_is_looked_at(tmp_path):
    pytest.importorskip("torch")
    text = script(workers=1, STEP=0.01, READ=0.01, STEPS=10**6).replace(
        "return 400", "return 10**6"
    )
    (tmp_path / "train.py").write_text(text)
    with subprocess.Popen(
        [sys.executable, "train.py"], cwd=tmp_path, env=environment(tmp_path)
    ) as process:
        try:
            time.sleep(8)
            report = outside.watch_pid(process.pid, 6)
        finally:
            process.kill()
    assert report.verdict == "storage" and report.stall == pytest.approx(0.75, abs=0.1)
