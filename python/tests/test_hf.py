import sys

import numpy as np
import pytest

import drapps
import drapps.hf
from drapps.hf import images

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="session")
def jpegs(photos):
    return [path.read_bytes() for path in sorted(photos.rglob("*.jpg"))]


def features(**more):
    return datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b", "c"]), **more}
    )


@pytest.fixture
def dataset(jpegs):
    rows = [{"bytes": jpeg, "path": None} for jpeg in jpegs]
    return datasets.Dataset.from_dict(
        {"image": rows, "label": [i % 3 for i in range(len(jpegs))]}, features=features()
    )


def batches(pipeline, size=4):
    return [batch.numpy() for batch in pipeline.random_resized_crop(24).shuffle(3).batch(size)]


def assert_same(pipeline, pictures, labels):
    expected = batches(drapps.image_bytes(pictures, labels))
    for mine, theirs in zip(batches(pipeline), expected, strict=True):
        for name, column in theirs.items():
            assert np.array_equal(mine[name], column), name


def test_the_stream_is_that_of_the_pictures(dataset, jpegs):
    pipeline = images(dataset)
    assert pipeline.classes == ("a", "b", "c")
    assert_same(pipeline, jpegs, [i % 3 for i in range(len(jpegs))])


def test_pictures_are_views_into_the_mapped_file(dataset, jpegs, tmp_path):
    dataset.save_to_disk(tmp_path / "set")
    loaded = datasets.load_from_disk(tmp_path / "set")
    allocated = pa.total_allocated_bytes()
    pipeline = images(loaded)
    assert pa.total_allocated_bytes() - allocated < len(jpegs[0]), "Arrow copied nothing"
    mapped = [
        (int(line.split("-")[0], 16), int(line.split()[0].split("-")[1], 16))
        for line in open("/proc/self/maps")  # noqa: SIM115, PTH123
        if str(tmp_path / "set") in line
    ]
    assert mapped
    source = pipeline.source
    for address, length in zip(source._addresses.tolist(), source._lengths.tolist(), strict=True):
        assert any(first <= address and address + length <= end for first, end in mapped)
    del loaded, dataset
    assert_same(pipeline, jpegs, [i % 3 for i in range(len(jpegs))])


def test_selected_shuffled_and_filtered_datasets_keep_their_order(dataset):
    for changed in (
        dataset.shuffle(seed=1),
        dataset.select([5, 2, 2, 9]),
        dataset.select(range(3, 8)),
        dataset.filter(lambda row: row["label"] == 1).select([1, 0, 3]),
        datasets.concatenate_datasets([dataset.select([4, 1]), dataset.shuffle(seed=2)]),
    ):
        rows = changed.cast_column("image", datasets.Image(decode=False))
        assert_same(images(changed), [row["image"]["bytes"] for row in rows], rows["label"][:])


def test_rows_that_have_only_a_path_are_files(photos, jpegs):
    paths = [str(path) for path in sorted(photos.rglob("*.jpg"))]
    rows = [
        {"bytes": jpeg if i % 3 else None, "path": None if i % 3 else paths[i]}
        for i, jpeg in enumerate(jpegs)
    ]
    labels = [0] * len(jpegs)
    mixed = datasets.Dataset.from_dict({"image": rows, "label": labels}, features=features())
    assert_same(images(mixed), jpegs, labels)
    order = list(range(len(jpegs)))[::-1]
    assert_same(images(mixed.select(order)), jpegs[::-1], labels)
    alone = datasets.Dataset.from_dict({"image": paths, "label": labels}, features=features())
    assert_same(images(alone), jpegs, labels)


def test_columns_of_bytes_and_several_labels(jpegs):
    count = len(jpegs)
    plain = datasets.Dataset.from_dict(
        {"x": jpegs, "small": list(range(count)), "flag": [i % 2 == 0 for i in range(count)]},
        features=datasets.Features(
            {
                "x": datasets.Value("large_binary"),
                "small": datasets.Value("uint8"),
                "flag": datasets.Value("bool"),
            }
        ),
    )
    pipeline = images(plain, image="x", labels=("small", "flag"))
    batch = next(iter(pipeline.center_crop(8).batch(4))).numpy()
    assert batch["small"].tolist() == [0, 1, 2, 3]
    assert batch["flag"].tolist() == [1, 0, 1, 0]
    assert "label" not in batch
    assert "small" not in next(iter(images(plain, image="x", labels=()).center_crop(8).batch(4)))


def test_what_cannot_be_read_says_why(dataset, jpegs):
    with pytest.raises(drapps.PipelineError, match=r"no column 'picture'.*label \(int64\)"):
        images(dataset, image="picture")
    with pytest.raises(drapps.PipelineError, match="it must be of the feature Image"):
        images(dataset, image="label")
    with pytest.raises(drapps.PipelineError, match="choose one"):
        images(datasets.DatasetDict(train=dataset))
    with pytest.raises(drapps.PipelineError, match="streaming=True"):
        images(dataset.to_iterable_dataset())
    with pytest.raises(drapps.PipelineError, match=r"no datasets\.Dataset"):
        images(jpegs)
    with pytest.raises(drapps.PipelineError, match="transform"):
        images(dataset.with_transform(lambda rows: rows))
    with pytest.raises(drapps.DataNotFoundError, match="no rows"):
        images(dataset.select([]))
    named = dataset.add_column("name", [str(i) for i in range(len(dataset))])
    with pytest.raises(drapps.PipelineError, match="class_encode_column"):
        images(named, labels="name")
    holes = dataset.add_column("hole", [None, *range(1, len(dataset))])
    with pytest.raises(drapps.PipelineError, match="holds nulls"):
        images(holes, labels="hole")
    nothing = datasets.Dataset.from_dict({"image": [None], "label": [0]}, features=features())
    with pytest.raises(drapps.PipelineError, match=r"row 0 .* neither bytes nor a path"):
        images(nothing)


def test_a_bad_picture_says_its_row(jpegs):
    rows = [{"bytes": jpegs[0], "path": None}, {"bytes": b"no picture", "path": None}]
    bad = datasets.Dataset.from_dict({"image": rows, "label": [0, 1]}, features=features())
    with pytest.raises(drapps.SampleError) as caught:
        list(images(bad).center_crop(8).batch(2))
    assert caught.value.index == 1


def test_the_module_brings_no_framework():
    import subprocess

    modules = subprocess.run(
        [sys.executable, "-c", "import sys, drapps.hf; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"datasets", "pyarrow", "pandas", "torch", "numpy"} & set(modules)
