import io
import os
import resource
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import drapps
from drapps.shards.pack import pack
from drapps.shards.webdataset import expand_braces
from python.tests.shard_files import write_tar


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "drapps" / "shards"


@pytest.fixture(scope="session")
def jpegs(photos):
    return [path.read_bytes() for path in sorted(photos.rglob("*.jpg"))]


def batches(pipeline, size=4):
    return [batch.numpy() for batch in pipeline.random_resized_crop(24).shuffle(3).batch(size)]


def assert_same_stream(one, other):
    ours, theirs = batches(one), batches(other)
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.keys() == expected.keys()
        for name, column in expected.items():
            assert np.array_equal(mine[name], column), name


def write_set(folder: Path, pictures, shards=3, label="{}".format) -> list[Path]:
    folder.mkdir(exist_ok=True)
    each = -(-len(pictures) // shards)
    paths = []
    for number in range(shards):
        members = []
        for i in range(number * each, min((number + 1) * each, len(pictures))):
            members += [(f"{i:05}.jpg", pictures[i]), (f"{i:05}.cls", label(i % 5).encode())]
        paths.append(write_tar(folder / f"train-{number:02}.tar", members))
    return paths


def test_packed_folder_gives_the_stream_of_the_folder(photos, tmp_path):
    packed = pack(photos, tmp_path / "out", shard_bytes=60_000)
    assert packed.samples == 21
    assert len(packed.shards) > 3
    assert packed.size == sum(shard.stat().st_size for shard in packed.shards)
    assert max(shard.stat().st_size for shard in packed.shards) <= 60_000
    shards = drapps.webdataset(tmp_path / "out")
    assert shards.classes == ("class_0", "class_1", "class_2")
    assert_same_stream(shards, drapps.image_folder(photos))


def test_members_of_a_sample_may_stand_in_any_order_and_folder(jpegs, tmp_path):
    path = write_tar(
        tmp_path / "set.tar",
        [
            ("b/1.cls", b" 7\n"),
            ("a/1.JPG", jpegs[0]),
            ("./", b""),
            ("b/.hidden.jpg", b"no picture"),
            ("__meta__/1.jpg", b"no picture"),
            ("b/1.jpg", jpegs[1]),
            ("b/1.info.txt", b"something"),
            ("a/1.cls", b"-3"),
        ],
    )
    pipeline = drapps.webdataset([path])
    batch = next(iter(pipeline.center_crop(16).batch(2))).numpy()
    assert batch["label"].tolist() == [7, -3]
    alone = drapps.image_bytes([jpegs[1], jpegs[0]])
    assert np.array_equal(
        batch["image"], next(iter(alone.center_crop(16).batch(2))).numpy()["image"]
    )


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_of_every_writer_are_read(format, jpegs, tmp_path):  # noqa: A002
    name = "f" * 90 + "/" + "n" * 90 if format == tarfile.USTAR_FORMAT else "é" * 200
    path = write_tar(tmp_path / "a.tar", [(name + ".jpg", jpegs[0]), (name + ".cls", b"4")], format)
    batch = next(iter(drapps.webdataset(path).center_crop(16).batch(1))).numpy()
    assert batch["label"].tolist() == [4]


def test_what_tar_itself_writes_is_read(photos, tmp_path):
    if shutil.which("tar") is None:
        pytest.skip("no tar here")
    subprocess.run(["tar", "cf", tmp_path / "a.tar", "-C", photos, "."], check=True)
    pipeline = drapps.webdataset(tmp_path / "a.tar", label=None)
    assert len(pipeline.source) == 21
    assert len(batches(pipeline, 21)) == 1


def test_labels_of_json_and_of_texts_and_none(jpegs, tmp_path):
    path = write_tar(
        tmp_path / "a.tar",
        [
            ("0.jpg", jpegs[0]),
            (
                "0.json",
                b'{"y": 2, "name": "dog", "w": 1.5, "long": "%s", "list": [1]}' % (b"9" * 5000),
            ),
            ("1.jpg", jpegs[1]),
            ("1.json", b'{"y": "5", "name": "cat", "w": 2}'),
        ],
    )

    def labels(**arguments):
        batch = next(iter(drapps.webdataset(path, **arguments).center_crop(8).batch(2)))
        return np.asarray(batch["label"]).tolist()

    assert labels(label=("json", "y")) == [2, 5]
    assert labels(label=("json", "name"), classes=["cat", "dog"]) == [1, 0]
    assert "label" not in next(iter(drapps.webdataset(path, label=None).center_crop(8).batch(2)))
    for label, message in [
        (("json", "name"), r"'dog'.*no whole number"),
        (("json", "w"), "no whole number"),
        (("json", "long"), "no int64|no whole number"),
        (("json", "list"), "no whole number"),
        (("json", "z"), "field 'z'"),
        ("cls", r"sample '0' in .*a\.tar' has no label"),
    ]:
        with pytest.raises(drapps.PipelineError, match=message):
            drapps.webdataset(path, label=label)


def test_masks_come_along(jpegs, tmp_path):
    masks = []
    for number, jpeg in enumerate(jpegs[:2]):
        gray = Image.open(io.BytesIO(jpeg)).convert("L").point(lambda value: value // 64)
        gray.save(path := tmp_path / f"{number}.png")
        masks.append(path.read_bytes())
    members = [(f"{i}.jpg", jpegs[i]) for i in range(2)]
    members += [(f"{i}.seg.png", masks[i]) for i in range(2)]
    path = write_tar(tmp_path / "a.tar", members)
    pipeline = drapps.webdataset(path, mask="seg.png", label=None)
    expected = drapps.image_bytes(jpegs[:2], masks=masks)
    mine = next(iter(pipeline.center_crop(20).batch(2))).numpy()
    theirs = next(iter(expected.center_crop(20).batch(2))).numpy()
    assert np.array_equal(mine["mask"], theirs["mask"])
    assert np.array_equal(mine["image"], theirs["image"])


def test_patterns_name_shards_in_order(jpegs, tmp_path, monkeypatch):
    write_set(tmp_path / "set", jpegs)
    monkeypatch.chdir(tmp_path)
    sizes = {
        given: len(drapps.webdataset(given).source)
        for given in ("set", "set/train-*.tar", "set/train-{00..02}.tar", "set/train-{00,02}.tar")
    }
    (tmp_path / "set" / "train-00.tar").rename(tmp_path / "set" / "train[0].tar")
    third = -(-len(jpegs) // 3)
    assert len(drapps.webdataset("set/train[0].tar").source) == third
    assert list(sizes.values()) == [len(jpegs)] * 3 + [len(jpegs) - third]
    assert expand_braces("{a,b}{08..11}") == [
        f"{letter}{number}" for letter in "ab" for number in ("08", "09", "10", "11")
    ]
    assert expand_braces("plain") == ["plain"]
    assert expand_braces("x{3..1}") == ["x3", "x2", "x1"]


def test_wrong_use_says_what_is_wrong(jpegs, tmp_path):
    write_set(tmp_path / "set", jpegs)
    shard = tmp_path / "set" / "train-00.tar"
    with pytest.raises(drapps.PipelineError, match="no image"):
        drapps.webdataset(shard, image="png")
    with pytest.raises(drapps.PipelineError, match="extensions"):
        drapps.webdataset(shard, image="")
    with pytest.raises(drapps.PipelineError, match="label="):
        drapps.webdataset(shard, label=("json",))
    with pytest.raises(drapps.PipelineError, match="index="):
        drapps.webdataset(shard, index=5)
    with pytest.raises(drapps.PipelineError, match="only local files"):
        drapps.webdataset("https://host/train.tar")
    with pytest.raises(drapps.PipelineError, match="empty"):
        drapps.webdataset([])
    with pytest.raises(drapps.DataNotFoundError, match=r"absent\.tar"):
        drapps.webdataset(tmp_path / "absent.tar")
    with pytest.raises(drapps.DataNotFoundError, match="no file matches"):
        drapps.webdataset(str(tmp_path / "no-*.tar"))
    with pytest.raises(drapps.DataNotFoundError, match="no files"):
        (tmp_path / "empty").mkdir()
        drapps.webdataset(tmp_path / "empty")
    with pytest.raises(drapps.DataNotFoundError, match="no samples"):
        drapps.webdataset(write_tar(tmp_path / "nothing.tar", []))
    twice = write_tar(tmp_path / "twice.tar", [("0.jpg", jpegs[0]), ("0.jpg", jpegs[1])])
    with pytest.raises(drapps.PipelineError, match="twice"):
        drapps.webdataset(twice)


def test_damaged_and_compressed_shards_are_typed_errors(jpegs, tmp_path):
    good = write_set(tmp_path / "set", jpegs, shards=1)[0]
    cut = tmp_path / "cut.tar"
    cut.write_bytes(good.read_bytes()[:3000])
    with pytest.raises(drapps.SampleError) as caught:
        drapps.webdataset(cut)
    assert (caught.value.code, caught.value.stage) == ("truncated", "setup")
    assert caught.value.path == str(cut)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(good, "x")
    with pytest.raises(drapps.SampleError, match="gzip") as caught:
        drapps.webdataset(tmp_path / "a.tar.gz")
    assert caught.value.code == "unsupported"


def test_a_shard_that_changes_is_an_error_of_its_samples_only(jpegs, tmp_path):
    paths = write_set(tmp_path / "set", jpegs)
    pipeline = drapps.webdataset(paths)
    paths[1].write_bytes(paths[1].read_bytes() + bytes(512))
    loader = pipeline.center_crop(16).on_error("skip").batch(4)
    passing = iter(loader)
    indices = np.concatenate([np.asarray(batch["index"]) for batch in passing])
    third = -(-len(jpegs) // 3)
    assert sorted(indices.tolist()) == [i for i in range(len(jpegs)) if i // third != 1]
    lines = passing.bad_samples()
    assert {line["index"] for line in lines} == set(range(third, 2 * third))
    assert all(line["path"].startswith(f"{paths[1]}[") for line in lines)
    assert {line["code"] for line in lines} == {"corrupt"}
    again = drapps.webdataset(paths).center_crop(16).batch(len(jpegs))
    assert next(iter(again)).rows == len(jpegs), "listed anew, it is read"


def test_the_index_is_kept_and_holds_for_the_same_shard_only(jpegs, tmp_path, own_cache, listings):
    paths = write_set(tmp_path / "set", jpegs)
    first = drapps.webdataset(paths)
    assert listings() == 3
    assert len(list(own_cache.iterdir())) == 3
    assert_same_stream(drapps.webdataset(paths), first)
    assert listings() == 0
    drapps.webdataset(paths, label=None)
    assert listings() == 3, "another way of reading is another index"
    os.utime(paths[0], (5, 5))
    drapps.webdataset(paths)
    assert listings() == 1
    drapps.webdataset(paths)
    assert listings() == 0, "the stale one was replaced"


@pytest.fixture
def listings(monkeypatch):
    """How many shards were listed since the last question."""
    from drapps import _core

    listed, list_tar = [], _core.list_tar
    monkeypatch.setattr(
        _core, "list_tar", lambda *arguments: listed.append(1) or list_tar(*arguments)
    )

    def count():
        number = len(listed)
        listed.clear()
        return number

    return count


def test_any_damage_to_a_kept_index_means_listing_again(jpegs, tmp_path, own_cache, listings):
    path = write_set(tmp_path / "set", jpegs[:2], shards=1)[0]
    drapps.webdataset(path)
    (kept,) = own_cache.iterdir()
    good = kept.read_bytes()
    listings()
    draw = np.random.default_rng(0)
    for _ in range(60):
        bad = bytearray(good)
        bad[draw.integers(len(bad))] ^= 1 << draw.integers(8)
        kept.write_bytes(bad)
        assert len(drapps.webdataset(path).source) == 2
        assert listings() == 1
        kept.unlink(missing_ok=True)
    for size in (0, 7, 12, len(good) - 1):
        kept.write_bytes(good[:size])
        assert len(drapps.webdataset(path).source) == 2
        assert listings() == 1
        kept.unlink(missing_ok=True)
    kept.write_bytes(good)
    drapps.webdataset(path)
    assert listings() == 0


def test_indexes_lie_where_they_are_asked_for_and_replace_nothing(jpegs, tmp_path, own_cache):
    path = write_set(tmp_path / "set", jpegs[:2], shards=1)[0]
    drapps.webdataset(path, index=None)
    assert not own_cache.exists()
    drapps.webdataset(path, index=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 1
    drapps.webdataset(path, index="beside")
    (beside,) = (entry for entry in path.parent.iterdir() if entry != path)
    assert beside.name.startswith(path.name)
    beside.write_bytes(b"the user's own")
    with pytest.warns(UserWarning, match="not kept"):
        assert len(drapps.webdataset(path, index="beside").source) == 2
    assert beside.read_bytes() == b"the user's own"
    assert not own_cache.exists()
    assert len(list(path.parent.iterdir())) == 2, "no other files are left"


def test_places_that_cannot_be_written_just_work(jpegs, tmp_path, monkeypatch, recwarn):
    path = write_set(tmp_path / "set", jpegs[:2], shards=1)[0]
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    assert len(drapps.webdataset(path).source) == 2
    assert not recwarn.list
    with pytest.warns(UserWarning, match="not kept"):
        drapps.webdataset(path, index=tmp_path / "file" / "below")


def test_many_shards_need_few_descriptors(jpegs, tmp_path):
    paths = [
        write_tar(tmp_path / f"{i:03}.tar", [("0.jpg", jpegs[i % len(jpegs)])]) for i in range(300)
    ]
    code = (
        "import sys, drapps\n"
        f"pipeline = drapps.webdataset({str(tmp_path)!r}, label=None).center_crop(8).shuffle()\n"
        "print(sum(batch.rows for _ in range(2) for batch in pipeline.batch(16)))\n"
    )

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == f"{2 * len(paths)}\n", done.stderr


def test_state_resumes_and_knows_its_data(jpegs, tmp_path):
    paths = write_set(tmp_path / "set", jpegs)
    loader = drapps.webdataset(paths).center_crop(8).shuffle().batch(4)
    passing = iter(loader)
    next(passing)
    state = passing.state_dict()
    rest = [batch.numpy() for batch in passing]
    again = drapps.webdataset(paths).center_crop(8).shuffle().batch(4)
    again.load_state_dict(state)
    for mine, expected in zip([batch.numpy() for batch in again], rest, strict=True):
        assert np.array_equal(mine["index"], expected["index"])
    other = drapps.webdataset(paths[:2])
    assert other.source.digest() != drapps.webdataset(paths).source.digest()
