"""``loader.record(path)``: what was decided is in the file, reads back, and comes out again."""

from __future__ import annotations

import copy
import csv
import json
import os
import pickle
import subprocess
import sys
import textwrap
import time
import warnings
from itertools import pairwise
from pathlib import Path

import pytest
import torch.utils.data

import drapps
import drapps.torch
from drapps import _core, trace
from drapps.trace.summary import summarise
from python.tests.cells import full
from python.tests.commands import ENVIRONMENT, answer, run

_core._register_test_policies()


class Squares(torch.utils.data.Dataset):
    def __init__(self, length=400):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        time.sleep(0.002)
        return index * index


def run_for(loader, seconds):
    """Passes until so much time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in loader:
            if time.monotonic() >= end:
                break


def native(photos, policy="random_raw"):
    pipeline = drapps.image_folder(photos).decode().random_resized_crop(32)
    return pipeline.shuffle(1).batch(4, policy=policy)


def python(policy="random_raw", length=400, **options):
    return drapps.torch.DataLoader(Squares(length), 8, num_workers=4, policy=policy, **options)


def decisions(path):
    return [entry for entry in trace.open(path) if isinstance(entry, trace.Decision)]


@pytest.fixture(scope="module")
def recorded(photos, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "run.trace"
    loader = native(photos, policy="random_raw")
    with loader.record(path):
        run_until(loader, 3)
        loader.policy = "hill_climb"
        run_until(loader, 6)
    return path


def run_until(loader, decisions):
    """Passes for a second, and until so many decisions have come."""
    end = time.monotonic() + 60
    run_for(loader, 1.2)
    while loader.explain().decisions.totals["decisions"] < decisions and time.monotonic() < end:
        run_for(loader, 0.2)


def moves_that_came_out_again(loader, seconds, path):
    """Records a run whose knobs move, replays it, and gives the names of those that moved."""
    loader.policy = "random_raw"
    run_for(loader, 0.3)  # the recording begins amid a run
    recording = loader.record(path)
    run_for(loader, seconds / 2)
    loader.freeze()
    run_for(loader, 0.3)
    loader.freeze(False)
    loader.policy = "random"
    run_for(loader, seconds / 2)
    recording.stop()
    done = trace.replay(path)
    assert done.decisions >= seconds
    assert (done.equal, done.first_difference) == (done.decisions, "")
    assert done.note == ""
    return {name for decision in decisions(path) for name in decision.moves}


@pytest.mark.parametrize(
    ("path_of_data", "seconds"),
    [("threads", 2), full(("processes", 4)), full(("threads", 600)), full(("processes", 600))],
)
def test_a_run_with_every_knob_moving_comes_out_again(path_of_data, seconds, photos, tmp_path):
    threads = path_of_data == "threads"
    loader = native(photos) if threads else python(length=40_000)
    knobs = {"workers", "fused"} if threads else {"processes"}
    # Knobs are held while processes start, which beside other programs may take all of a run.
    for longer in (1, 2, 4):
        moved = moves_that_came_out_again(loader, longer * seconds, tmp_path / f"{longer}.trace")
        if os.cpu_count() == 1 or moved & knobs:
            return
    assert moved & knobs


def test_what_was_recorded_reads_back(recorded):
    read = trace.open(recorded)
    entries = list(read)
    assert read.note == ""
    assert read.about["plan"]["machine"]["cpus"] > 0
    assert abs(read.started - time.time()) < 3600
    began, ended = entries[0], entries[-1]
    assert isinstance(began, trace.Began) and began.policy == "random_raw"
    assert began.config == {"name": "random_raw"}
    assert not began.frozen and not began.stopped
    assert isinstance(ended, trace.Ended)
    log = decisions(recorded)
    assert ended.decisions == len(log) > 5
    assert [entry.policy for entry in entries if isinstance(entry, trace.PolicySwapped)] == [
        "hill_climb"
    ]
    assert any(isinstance(entry, trace.PassBegan) for entry in entries)
    assert {field.name for field in read.fields} == set(log[0].observation)
    times = [decision.time for decision in log]
    assert times == sorted(times) and 0 <= times[0] < times[-1] < 60
    for before, after in pairwise(log):
        assert before.applied == after.before
        assert before.observation["batches"] <= after.observation["batches"]
    assert log[0].why == "random"
    assert "workers" in log[0].before and "weight.decode" in log[0].proposed


def test_nothing_is_overwritten_and_one_recording_runs_at_a_time(photos, tmp_path):
    loader = native(photos)
    taken = tmp_path / "taken"
    taken.write_text("something")
    with pytest.raises(drapps.PipelineError, match="overwrites none"):
        loader.record(taken)
    assert taken.read_text() == "something"
    with loader.record(tmp_path / "a.trace"):
        with pytest.raises(drapps.PipelineError, match="stop that recording first"):
            loader.record(tmp_path / "b.trace")
        assert not (tmp_path / "b.trace").exists()
    loader.record(tmp_path / "b.trace").stop()
    with pytest.raises(OSError, match="No such file"):
        loader.record(tmp_path / "no" / "folder")


def test_nothing_decides_about_python_code_in_this_process(tmp_path):
    loader = drapps.torch.DataLoader(Squares(), 8)
    with pytest.raises(drapps.PipelineError, match="nothing decides about it"):
        loader.record(tmp_path / "run.trace")


def test_a_lifted_loader_is_recorded(photos, v2, torchvision, tmp_path):
    transform = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    dataset = torchvision.datasets.ImageFolder(photos, transform)
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=2, policy="random_raw")
    if not loader.lifted().native:
        pytest.skip(str(loader.lifted()))
    with loader.record(tmp_path / "run.trace"):
        run_for(loader, 1.5)
    done = trace.replay(tmp_path / "run.trace")
    assert done.equal == done.decisions > 1


def test_a_lifted_loader_that_is_made_anew_ends_its_recording(photos, v2, torchvision, tmp_path):
    transform = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    dataset = torchvision.datasets.ImageFolder(photos, transform)
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=2)
    if not loader.lifted().native:
        pytest.skip(str(loader.lifted()))
    loader.record(tmp_path / "run.trace")
    next(iter(loader))
    dataset.transform = v2.Compose([v2.RandomResizedCrop(24), v2.ToImage()])
    with pytest.warns(RuntimeWarning, match="record the loader again"):
        next(iter(loader))
    assert list(trace.open(tmp_path / "run.trace"))


def test_a_loader_that_is_gone_has_closed_its_file(photos, tmp_path):
    loader = native(photos)
    loader.record(tmp_path / "run.trace")
    run_for(loader, 0.5)
    del loader
    read = trace.open(tmp_path / "run.trace")
    assert isinstance(list(read)[-1], trace.Ended)
    assert read.note == ""


def test_copies_of_a_loader_are_not_recorded(tmp_path):
    loader = python()
    with loader.record(tmp_path / "run.trace"):
        for other in (copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
            other.record(tmp_path / f"{id(other)}.trace").stop()


# The limit on the size of files belongs to a whole process.
FULL = """
    import json, os, resource, sys, time, warnings
    sys.path.insert(0, {here!r})
    from python.tests.test_trace import native, python, run_for
    path, kind, photos = {path!r}, {kind!r}, {photos!r}
    persistent = {{"persistent_workers": kind == "persistent"}}
    loader = native(photos) if kind == "threads" else python(**persistent)
    recording = loader.record(path)
    run_for(loader, 1.5)
    # The file is as large as one may be, and other files are not: batches are shared through some.
    most = 1 << 42
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    os.truncate(path, most)

    def messages():
        return [str(each.message) for each in caught if each.category is RuntimeWarning]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        end = time.monotonic() + 60
        while not messages() and time.monotonic() < end:
            run_for(loader, 0.5)
        run_for(loader, 1.5)  # what is decided later is no second warning
        loader.explain()
        batches = sum(1 for _ in loader)
        recording.stop()
    log = loader.explain().decisions.to_json()["entries"]
    noted = [each["why"] for each in log if "recording" in (each["why"] or "")]
    print(json.dumps([messages(), batches, noted]))
"""


@pytest.mark.parametrize("kind", ["threads", "persistent", full("processes")])
def test_a_full_disk_ends_the_recording_with_one_warning(kind, photos, tmp_path):
    path = tmp_path / "run.trace"
    code = textwrap.dedent(FULL).format(
        here=str(Path.cwd()), path=str(path), kind=kind, photos=str(photos)
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    messages, batches, noted = json.loads(done.stdout.splitlines()[-1])
    assert len(messages) == 1 and "File too large" in messages[0] and str(path) in messages[0]
    assert batches > 0
    assert len(noted) <= 1  # older entries fall out of the log
    read = trace.open(path)
    assert isinstance(next(iter(read)), trace.Began)
    done = trace.replay(path)
    assert done.equal == done.decisions


def test_a_process_that_is_killed_leaves_a_trace(photos, tmp_path):
    path = tmp_path / "run.trace"
    code = f"""
import os, signal, time
import drapps
from drapps import _core
_core._register_test_policies()
pipeline = drapps.image_folder({str(photos)!r}).decode().random_resized_crop(32)
loader = pipeline.shuffle(1).batch(4, policy="random_raw")
loader.record({str(path)!r})
end = time.monotonic() + 2.5
while time.monotonic() < end:
    for _ in loader:
        pass
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=300, env=ENVIRONMENT)
    read = trace.open(path)
    assert len(list(read)) > 1
    assert "was not closed" in read.note
    done = trace.replay(path)
    assert done.equal == done.decisions > 0
    assert "was not closed" in done.note


def test_a_trace_that_was_cut_off_is_read_and_one_that_is_none_is_refused(recorded, tmp_path):
    cut = tmp_path / "cut.trace"
    whole = recorded.read_bytes()
    cut.write_bytes(whole[:-20])
    read = trace.open(cut)
    assert 0 < len(list(read)) < len(list(trace.open(recorded)))
    assert "cut off" in read.note
    (tmp_path / "none").write_bytes(b"something else")
    with pytest.raises(drapps.PipelineError, match="no trace"):
        trace.open(tmp_path / "none")
    cut.write_bytes(whole[:100])
    with pytest.raises(drapps.PipelineError, match="before its header"):
        trace.open(cut)
    with pytest.raises(OSError, match="No such file"):
        trace.open(tmp_path / "nothing")


def test_a_summary_says_what_happened(recorded):
    summary = summarise(trace.open(recorded))
    assert summary.policies == ["random_raw", "hill_climb"]
    assert summary.decisions == len(decisions(recorded))
    assert 0 <= summary.stall_share <= 1
    assert summary.samples > 0 and summary.seconds > 1
    assert summary.slowest_lane is not None
    assert json.loads(json.dumps(summary.to_json()))["moves"] == dict(summary.moves)


def test_show(recorded):
    done = run("trace", "show", recorded)
    assert done.returncode == 0, done.stderr
    assert "random_raw, then hill_climb" in done.stdout
    assert "slowest stage" in done.stdout
    status, summary = answer("trace", "show", recorded)
    assert (status, summary["decisions"], summary["note"]) == (0, len(decisions(recorded)), "")
    assert run("trace", "show", recorded, "--quiet").stdout == ""


def test_show_says_that_a_file_was_cut_off(recorded, tmp_path):
    cut = tmp_path / "cut.trace"
    cut.write_bytes(recorded.read_bytes()[:-20])
    done = run("trace", "show", cut)
    assert done.returncode == 0 and "cut off" in done.stdout


def test_export_as_csv(recorded, tmp_path):
    out = tmp_path / "run.csv"
    status, report = answer("trace", "export", recorded, "--format", "csv", "-o", out)
    assert (status, report["bytes"]) == (0, out.stat().st_size)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    log = decisions(recorded)
    assert report["decisions"] == len(rows) == len(log)
    assert int(rows[-1]["samples"]) == log[-1].observation["samples"]
    assert int(rows[-1]["applied.workers"]) == log[-1].applied["workers"]
    assert rows[0]["why"] == log[0].why
    again = run("trace", "export", recorded, "--format", "csv", "-o", out)
    assert again.returncode == 1 and "File exists" in again.stderr


def test_export_for_perfetto(recorded, tmp_path):
    out = tmp_path / "run.json"
    assert run("trace", "export", recorded, "--format", "perfetto", "-o", out).returncode == 0
    events = json.loads(out.read_text())["traceEvents"]
    kinds = {event["ph"] for event in events}
    assert {"M", "C", "i"} <= kinds
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert "samples" in counters and "settings.workers" in counters
    moves = [event["name"] for event in events if event["ph"] == "i" and " -> " in event["name"]]
    assert len(moves) == sum(len(decision.moves) for decision in decisions(recorded))
    assert all(event["ts"] >= 0 for event in events if event["ph"] != "M")


def test_replay_command(recorded, tmp_path):
    done = run("trace", "replay", recorded)
    # The policies of these tests are not known there.
    assert done.returncode == 1 and "there is no policy" in done.stderr
    loader = drapps.torch.DataLoader(Squares(), 8, num_workers=2)
    path = tmp_path / "trials.trace"
    with loader.record(path):
        run_for(loader, 1.2)
    status, report = answer("trace", "replay", path)
    assert status == 0 and report["equal"] == report["decisions"] > 0


def test_wrong_use_of_the_commands(recorded, tmp_path):
    assert run("trace").returncode == 2
    assert run("trace", "export", recorded, "--format", "xml", "-o", "x").returncode == 2
    assert run("trace", "show", tmp_path / "none").returncode == 1
    (tmp_path / "none").write_bytes(b"")
    done = run("trace", "show", tmp_path / "none")
    assert done.returncode == 1 and str(tmp_path / "none") in done.stderr


def test_no_warning_where_all_is_well(photos, tmp_path):
    loader = native(photos)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with loader.record(tmp_path / "run.trace"):
            run_for(loader, 0.5)
            loader.explain()
