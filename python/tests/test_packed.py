import io
import json
from pathlib import Path

import numpy as np
import pytest

import drapps
from python.tests.conftest import picture
from python.tests.shard_files import write_litdata, write_mds

WRITERS = {"mds": write_mds, "litdata": write_litdata}
LABELS = {"mds": "label", "litdata": "meta.label"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def jpegs(photos):
    return [path.read_bytes() for path in sorted(photos.rglob("*.jpg"))]


@pytest.fixture(params=["mds", "litdata"])
def kind(request):
    return request.param


@pytest.fixture
def written(kind, jpegs, tmp_path):
    labels = [(-1) ** i * i * 1_000_000_007 for i in range(len(jpegs))]
    return WRITERS[kind](tmp_path / "set", jpegs, labels), labels


def read(kind, folder, **arguments):
    return getattr(drapps, kind)(folder, **{"label": LABELS[kind], **arguments})


def batches(pipeline):
    return [batch.numpy() for batch in pipeline.random_resized_crop(24).shuffle(3).batch(4)]


def change(folder, how):
    path = folder / "index.json"
    described = json.loads(path.read_text())
    how(described)
    path.write_text(json.dumps(described))


def test_the_stream_is_that_of_the_pictures(kind, written, jpegs):
    folder, labels = written
    for _ in range(2):  # listed, then with the kept index
        mine = batches(read(kind, folder))
        theirs = batches(drapps.image_bytes(jpegs, labels))
        for one, other in zip(mine, theirs, strict=True):
            for name, column in other.items():
                assert np.array_equal(one[name], column), name


def test_labels_may_be_several_or_none(kind, written):
    folder, labels = written
    name = LABELS[kind]
    batch = next(iter(read(kind, folder, label=[name]).center_crop(8).batch(4))).numpy()
    assert batch[name].tolist() == labels[:4]
    assert "label" not in next(iter(read(kind, folder, label=None).center_crop(8).batch(4)))


def test_columns_that_do_not_fit_are_refused_with_those_there_are(kind, written):
    folder, _ = written
    with pytest.raises(drapps.PipelineError, match=r"image='picture' is no column.*image \(jpeg\)"):
        read(kind, folder, image="picture")
    with pytest.raises(drapps.PipelineError, match="is int"):
        read(kind, folder, image=LABELS[kind])
    with pytest.raises(drapps.PipelineError, match="is jpeg"):
        read(kind, folder, label="image")
    with pytest.raises(drapps.PipelineError, match="cannot be called 'image'"):
        read(kind, folder, label=["image"])


def test_folders_without_what_they_need_are_refused(kind, written, tmp_path):
    folder, _ = written
    with pytest.raises(drapps.DataNotFoundError, match=r"index\.json"):
        read(kind, tmp_path / "absent")
    shard = sorted(folder.glob("*.[mb]*"))[1]
    shard.rename(folder / "elsewhere")
    with pytest.raises(drapps.DataNotFoundError, match=shard.name):
        read(kind, folder)


def test_damage_is_a_typed_error_naming_the_file(kind, written):
    folder, _ = written
    shard = sorted(folder.glob("*.[mb]*"))[1]
    content = shard.read_bytes()
    for bad in (content[:10], content[: len(content) // 2], bytes(len(content))[:8], b"\xff" * 64):
        shard.write_bytes(bad)
        with pytest.raises(drapps.SampleError) as caught:
            read(kind, folder)
        assert caught.value.path == str(shard)
        assert caught.value.code in ("truncated", "corrupt")
    shard.write_bytes(content)
    (folder / "index.json").write_text("{")
    with pytest.raises(drapps.SampleError, match="no JSON"):
        read(kind, folder)


def test_files_outside_the_folder_are_not_read(kind, written):
    folder, _ = written

    def elsewhere(described):
        if kind == "mds":
            described["shards"][0]["raw_data"]["basename"] = "../index.json"
        else:
            described["chunks"][0]["filename"] = "/etc/passwd"

    change(folder, elsewhere)
    with pytest.raises(drapps.SampleError, match="whose file is"):
        read(kind, folder)


def test_compressed_shards_say_what_to_do(kind, written):
    folder, _ = written

    def compress(described):
        if kind == "litdata":
            described["config"]["compression"] = "zstd"
            return
        for shard in described["shards"]:
            shard["compression"] = "zstd"
            shard["zip_data"] = {"basename": shard["raw_data"]["basename"] + ".zstd", "bytes": 1}

    change(folder, compress)
    if kind == "mds":
        assert len(read(kind, folder).source) > 0, "decompressed beside themselves"
        for path in folder.glob("*.mds"):
            path.rename(path.with_suffix(".mds.zstd"))
    with pytest.raises(drapps.SampleError, match="write them") as caught:
        read(kind, folder)
    assert caught.value.code == "unsupported"


def test_mds_reads_digits_and_png(jpegs, photos, tmp_path):
    pngs = [path.read_bytes() for path in sorted(photos.rglob("*.png"))]
    folder = write_mds(tmp_path / "set", pngs, list(range(len(pngs))), encoding="png")
    assert len(drapps.mds(folder).source) == len(pngs)
    folder = write_mds(tmp_path / "text", jpegs, [0] * len(jpegs))
    with pytest.raises(drapps.PipelineError, match="is str"):
        drapps.mds(folder, label="extra")
    change(folder, lambda described: described["shards"][0]["column_names"].reverse())
    with pytest.raises(drapps.SampleError, match="different columns"):
        drapps.mds(folder)


def test_litdata_without_a_tree_is_called_by_place(jpegs, tmp_path):
    folder = write_litdata(tmp_path / "set", jpegs, list(range(len(jpegs))))
    change(folder, lambda described: described["config"].update(data_spec=None))
    batch = next(iter(drapps.litdata(folder, image="0", label="1").center_crop(8).batch(4)))
    assert np.asarray(batch["label"]).tolist() == [0, 1, 2, 3]
    change(folder, lambda described: described["config"].update(item_loader="TokensLoader"))
    with pytest.raises(drapps.SampleError, match="TokensLoader"):
        drapps.litdata(folder)


def test_what_the_other_libraries_write_is_read(kind):
    # Written by MosaicML Streaming 0.13 and LitData 0.2.76 from five pictures and their numbers.
    folder = Path(__file__).parent / "shards" / kind
    pipeline = getattr(drapps, kind)(folder, index=None)
    assert len(pipeline.source) == 5
    batch = next(iter(pipeline.center_crop(14).to("uint8", "nhwc").batch(5))).numpy()
    assert batch["label"].tolist() == [0, 1, 2, 3, 4]
    for number in range(5):
        alone = drapps.image_bytes([png(picture(number, 16 + number, 24 - number))])
        wanted = next(iter(alone.center_crop(14).to("uint8", "nhwc").batch(1))).numpy()["image"]
        distance = np.abs(batch["image"].astype(int) - wanted.astype(int))
        assert distance.mean((1, 2, 3)).argmin() == number


def png(image):
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()
