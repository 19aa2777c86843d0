"""Which files a loader reads, and what of them is in memory."""

import json
import os
from pathlib import Path

import pytest

from drapps.analysis import page_cache
from drapps.analysis.files import Files, OpenEvents, below, files_of, named
from drapps.analysis.journal import Journal
from drapps.errors import DataNotFoundError, PipelineError

SIZE = 3 * 4096 + 17


@pytest.fixture
def paths(tmp_path):
    files = []
    for number in range(8):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(os.urandom(SIZE))
        files.append(str(path))
    return files


@pytest.fixture
def leaves_memory(paths):
    page_cache.empty(paths)
    if page_cache.resident(paths) > 0:
        pytest.skip("the files of this file system do not leave memory")


@pytest.mark.usefixtures("leaves_memory")
def test_a_share_of_the_files_is_held_and_verified(paths):
    files = Files(paths, samples=16)
    assert files.sample_bytes == SIZE / 2
    assert files.hold(0.0) == 0 and files.hold(0.5) == 0.5 and files.hold(1.0) == 1
    read = files.read(depth=3, most_s=60)
    assert read.files == 8 and read.bytes == 8 * SIZE and read.latency_s > 0
    files.hold(0.0)
    assert files.read(2, 60, first=4096).bytes == 8 * 4096
    assert files.held() < 0.5, "no more is read than what is asked for"
    half = Files(paths[:4], samples=4)
    half.hold(1.0)
    page_cache.empty(paths[4:])
    assert half.held_around() == 0


@pytest.mark.usefixtures("leaves_memory")
def test_files_that_are_named_without_a_folder_have_others_beside_them(paths, monkeypatch):
    monkeypatch.chdir(Path(paths[0]).parent)
    names = [Path(path).name for path in paths]
    half = Files(names[:4], samples=4)
    half.hold(1.0)
    page_cache.empty(names[4:])
    assert half.held_around() == 0


def test_files_of_nothing_and_files_that_are_gone(paths, tmp_path):
    (tmp_path / "empty").touch()
    assert page_cache.resident([str(tmp_path / "empty")]) == 1 == page_cache.resident([])
    with pytest.raises(OSError, match="gone"):
        page_cache.resident([str(tmp_path / "gone")])
    assert page_cache.read(paths, 2, 0.0).files >= 1


def test_what_a_dataset_lists_is_taken_before_what_is_opened(paths, tmp_path):
    class Listed:
        samples = ()

    listed = Listed()
    listed.samples = [(path, 0) for path in paths]
    assert named(listed, [2, 0]) == [paths[2], paths[0]]
    listed.samples.append((str(tmp_path / "gone"), 0))
    assert named(listed, [8]) == []
    assert files_of(None, listed, [2, 0], paths, 9)[0].paths == [paths[2], paths[0]]
    files, source = files_of(None, object(), [0, 1], paths[:2], 9)
    assert files.sample_bytes == SIZE and "opened" in source
    shards, _ = files_of(None, object(), list(range(100)), paths[:2], 200)
    assert shards.sample_bytes == 2 * SIZE / 200
    assert files_of(None, object(), [0], [], 9)[0] is None
    whole, _ = files_of(str(tmp_path), object(), [0], [], 16)
    assert whole.sample_bytes == SIZE / 2 and whole.paths == sorted(paths) == below(str(tmp_path))
    with pytest.raises(PipelineError, match="how many samples"):
        files_of(str(tmp_path), object(), [], [], 0)
    with pytest.raises(DataNotFoundError, match="--data"):
        below(str(tmp_path / "gone"))


def test_open_events_tell_of_data_in_forks_too(paths, tmp_path):
    events = OpenEvents()
    Path(paths[0]).read_bytes()
    assert events.heard() == []
    events.listening = True
    for path in (paths[1], __file__, "/proc/stat"):
        Path(path).read_bytes()
    (tmp_path / "new").touch()
    (tmp_path / "newer").write_bytes(b"")
    child = os.fork()
    if not child:
        Path(paths[2]).read_bytes()
        os._exit(0)
    os.waitpid(child, 0)
    events.listening = False
    assert events.heard() == [paths[1], paths[2]]
    events.clear()
    assert events.heard() == []


def test_a_journal_goes_on_with_its_own_training_alone(tmp_path):
    path = tmp_path / "analysis.json"
    journal = Journal(path, {"loader": {"workers": (1, 2)}})
    assert journal.phase("one", lambda: {"seconds": 1.0}) == {"seconds": 1.0}
    again = Journal(path, {"loader": {"workers": (1, 2)}})
    assert again.phase("one", lambda: pytest.fail("it was measured again")) == {"seconds": 1.0}
    with pytest.raises(PipelineError, match="another training"):
        Journal(path, {"loader": {}})
    assert [each.name for each in tmp_path.iterdir()] == ["analysis.json"]
    for text in ("[]", "{", json.dumps({"drapps_analysis": 99, "about": {}, "phases": {}})):
        path.write_text(text)
        with pytest.raises(PipelineError, match="no analysis"):
            Journal(path, {})
