"""Streams stay as they are: those of every kind of pipeline equal the recorded ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from python.tests.cells import some_full
from tests.golden.make_streams import GROUPS

ROOT = Path(__file__).resolve().parents[2]
RECORDED = json.loads(Path(__file__).with_name("streams.json").read_text())["streams"]
# Those that start worker processes take a hundred times as long as the others.
WORKERS = ["generator", "distributed", "resumed", "torch-order", "collated"]
WORKERS = [f"workers/map-{kind}" for kind in WORKERS]
WORKERS += ["workers/remembering-resumed", "workers/stream", "workers/stream-persistent"]
SLOW = {name for name in RECORDED if name.startswith("workers/")} - {*WORKERS}
SLOW.add("native/hugging-face")  # which imports more than all of the others
QUICK = [name for name in RECORDED if name not in SLOW]


@pytest.fixture(scope="module")
def streams(request, tmp_path_factory):
    """In a process of its own, from which workers fork quickly; those that a test asks for."""
    tests = [each for each in request.session.items if each.path == request.path]
    names = [each.callspec.params["name"] for each in tests if hasattr(each, "callspec")]
    file = tmp_path_factory.mktemp("streams") / "found.json"
    command = [sys.executable, "-m", "tests.golden.make_streams", str(file), *names]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, cwd=ROOT, env=os.environ | path, check=True)
    return json.loads(file.read_text())["streams"]


def test_every_stream_is_recorded():
    names = [f"{group}/{name}" for group, cases in GROUPS.items() for name in cases]
    assert sorted(names) == sorted(RECORDED)


@pytest.mark.parametrize("name", some_full(RECORDED, *QUICK))
def test_a_stream_is_the_recorded_one(streams, name):
    assert streams[name] == RECORDED[name]
