import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import drapps
from drapps.cli import main
from drapps.shards import pack as packing


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_command_packs_and_says_so(photos, tmp_path, capsys):
    assert main(["pack", str(photos), str(tmp_path / "out"), "--shard-bytes", "60K"]) == 0
    assert capsys.readouterr().out.startswith("21 samples in ")
    assert len(drapps.webdataset(tmp_path / "out").source) == 21


def test_the_command_speaks_to_programs_too(photos, tmp_path, capsys):
    assert main(["pack", str(photos), str(tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["samples"] == 21
    assert [Path(shard).stat().st_size for shard in report["shards"]] == [report["bytes"]]


def test_the_command_runs_as_a_module(photos, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "drapps.cli", "pack", photos, tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "shard-000000.tar").exists()


@pytest.mark.parametrize("size", ["0", "many", "1.5M", "-1"])
def test_sizes_that_are_none_are_refused(size, photos, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["pack", str(photos), str(tmp_path / "out"), "--shard-bytes", size])
    assert caught.value.code == 2
    assert "shard-bytes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(photos, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    assert main(["pack", str(photos), str(tmp_path / "out")]) == 1
    assert "not an empty folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    (tmp_path / "file").write_text("kept")
    assert main(["pack", str(photos), str(tmp_path / "file")]) == 1
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_is_none_is_named(tmp_path, capsys):
    assert main(["pack", str(tmp_path / "absent"), str(tmp_path / "out")]) == 1
    assert "absent" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_shards_are_the_same_each_time_and_hold_at_least_one_sample(photos, tmp_path):
    one = packing.pack(photos, tmp_path / "one", shard_bytes=1)
    other = packing.pack(photos, tmp_path / "other", shard_bytes=1)
    assert len(one.shards) == 21
    assert [path.read_bytes() for path in one.shards] == [
        path.read_bytes() for path in other.shards
    ]


def test_names_that_mean_something_in_shards_lose_it(own_photos, tmp_path):
    folder = own_photos / "class_0"
    picture = (folder / "00.jpg").read_bytes()
    for name in (
        "a.b.jpg",
        "a.png",
        "a.jpg",
        ".hid.jpg",
        "__meta__.jpg",
        "é.jpg",
        "x" * 200 + ".jpg",
    ):
        (folder / name).write_bytes(picture)
    (own_photos / "class_0" / "deep.er").mkdir()
    (own_photos / "class_0" / "deep.er" / "0.jpg").write_bytes(picture)
    packing.pack(own_photos, tmp_path / "out")
    source = drapps.webdataset(tmp_path / "out").center_crop(16)
    expected = drapps.image_folder(own_photos).center_crop(16)
    for mine, theirs in zip(source.batch(8), expected.batch(8), strict=True):
        for name, column in theirs.numpy().items():
            assert np.array_equal(np.asarray(mine[name]), column), name


def test_a_failure_leaves_whole_shards_only_and_names_the_file(
    photos, tmp_path, monkeypatch, capsys
):
    class Full(packing.NewFile):
        written = 0

        def appear(self):
            Full.written += 1
            if Full.written == 2:
                self._file.close()
                self._file = open("/dev/full", "wb")  # noqa: SIM115, PTH123
                self._file.write(b"x")
            super().appear()

    monkeypatch.setattr(packing, "NewFile", Full)
    assert main(["pack", str(photos), str(tmp_path / "out"), "--shard-bytes", "60K"]) == 1
    message = capsys.readouterr().err
    assert os.strerror(errno.ENOSPC) in message
    assert "shard-000001.tar" in message
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["shard-000000.tar"]
    assert len(drapps.webdataset(tmp_path / "out").source) > 0


def test_a_picture_that_is_gone_is_named(own_photos, tmp_path, monkeypatch, capsys):
    listed = packing.folder_source

    def then_remove(folder, extensions):
        source = listed(folder, extensions)
        (own_photos / "class_1" / "02.jpg").unlink()
        return source

    monkeypatch.setattr(packing, "folder_source", then_remove)
    assert main(["pack", str(own_photos), str(tmp_path / "out")]) == 1
    assert "02.jpg" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
