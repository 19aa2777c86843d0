"""Trainings to watch."""

import shutil
import tempfile
from pathlib import Path

import pytest

from python.tests.monitor.trainings import Trainings


@pytest.fixture
def trainings(monkeypatch):
    runtime = Path(tempfile.mkdtemp(prefix="run-", dir="/tmp"))  # short enough for a socket's name
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("TMPDIR", str(runtime))  # where other processes of this user have none
    monkeypatch.setattr(tempfile, "tempdir", None)
    started = Trainings(runtime)
    yield started
    started.close()
    shutil.rmtree(runtime)
