"""Streams stay as they are: those of every kind of pipeline equal the recorded ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = json.loads(Path(__file__).with_name("streams.json").read_text())["streams"]


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """In a process of its own, from which workers fork quickly."""
    file = tmp_path_factory.mktemp("streams") / "found.json"
    command = [sys.executable, "-m", "tests.golden.make_streams", str(file)]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, cwd=ROOT, env=os.environ | path, check=True)
    return json.loads(file.read_text())["streams"]


def test_every_stream_is_recorded(streams):
    assert streams.keys() == RECORDED.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_a_stream_is_the_recorded_one(streams, name):
    assert streams[name] == RECORDED[name]
