"""Native loaders of this package under ``drapps.analyze``: fetching apart from preparing."""

import time

import pytest

import drapps
from drapps.analysis.fit import fit
from drapps.analysis.model import Model, predict
from drapps.analysis.recommendation import Machine, recommend

MODEL = Model(
    prepare=[(1, 1000.0), (2, 2000.0)],
    fresh=[(1, 100.0), (2, 200.0)],
    ingest=[(8, 500.0)],
    samples=1000,
    sample_bytes=1e5,
    storage=2e7,
    kept_bytes=4e5,
    cores=2,
    depth=16,
)


def test_what_a_loader_keeps_is_neither_fetched_nor_prepared_anew():
    cold, warm = predict(MODEL, cache=0.0), predict(MODEL, cache=1.0)
    assert cold.fetch == pytest.approx(200) and cold.prepare == pytest.approx(200)
    assert warm.fetch is None and warm.prepare == pytest.approx(2000)
    half = predict(MODEL, cache=0.5)
    assert half.prepare == pytest.approx(1 / (0.5 / 2000 + 0.5 / 200))
    assert half.fetch == pytest.approx(400)
    assert Model.from_json(MODEL.to_json()) == MODEL


def test_a_first_pass_needs_the_cores_for_what_is_not_kept_yet():
    facts = {"machine_cores": 2.0, "training_cpu": 1 / 500, "loading_cpu": 1 / 1000}
    crowded = Model.from_json({**MODEL.to_json(), **facts, "storage": 1e9, "fresh_cpu": 1 / 100})
    first, later = predict(crowded, cache=0.0), predict(crowded, cache=1.0)
    assert first.bottleneck == "cores" and first.throughput == pytest.approx(
        2 / (1 / 500 + 1 / 100)
    )
    assert later.bottleneck == "training" and later.throughput == pytest.approx(500)


def test_what_the_system_has_in_memory_counts_for_the_training_as_it_is_alone():
    read_before = Model.from_json({**MODEL.to_json(), "beside_cache": 0.75})
    assert predict(read_before).fetch == pytest.approx(800)
    assert predict(read_before).prepare == pytest.approx(200)
    assert predict(read_before, cache=0.0).fetch == pytest.approx(200)


def test_what_the_loader_will_keep_by_itself_is_nothing_to_do():
    slow = Model.from_json({**MODEL.to_json(), "storage": 1e7})
    advice = recommend(slow, Machine(cores=2, ours=True, budget=1e9))
    assert advice.binding == "cache" and advice.settings == {}
    assert advice.action.startswith("Nothing: behind its first pass the loader keeps")
    small = recommend(slow, Machine(cores=2, ours=True, budget=1e6, memory=1e9))
    assert small.settings["ram_budget"] > 1e8 and "Keep" in small.action


@pytest.mark.parametrize("form", ["raw", "auto"])
def test_a_native_loader_is_measured_with_its_files_and_without(form, photos):
    pictures = drapps.image_folder(photos).resize(32).center_crop(32).to("uint8")
    cache = "off" if form == "auto" else "auto"
    loader = pictures.batch(4, cache=cache, form=form)
    report = drapps.analyze(loader, lambda _: time.sleep(0.001), steps=8, seconds=0.3)
    assert report.about["loader"]["native"] and report.about["loader"]["kind"] == "drapps"
    prepared, cold = report.phases["prepared"], report.phases["cold"]
    assert prepared["files"] == "the dataset's own list"
    if "unknown" in cold:
        pytest.skip(cold["unknown"])
    assert report.model["sample_bytes"] > 0
    assert ("fresh" in prepared) == ("kept" in prepared) == (form == "raw")
    if form == "raw":
        assert prepared["kept"]["samples"] > 0 and report.model["kept_bytes"] > 0
        assert "itself, from its second pass" in " ".join(report.notes)
    assert fit(report.phases, report.about).model.to_json() == report.model


@pytest.mark.full
def test_a_lifted_loader_is_measured_with_what_it_keeps_and_without(photos):
    torchvision = pytest.importorskip("torchvision")
    import drapps.torch

    transform = torchvision.transforms.Compose(
        [
            torchvision.transforms.Resize(32),
            torchvision.transforms.CenterCrop(32),
            torchvision.transforms.ToTensor(),
        ]
    )
    dataset = torchvision.datasets.ImageFolder(photos, transform)
    loader = drapps.torch.DataLoader(dataset, batch_size=4, form="raw")
    report = drapps.analyze(loader, lambda _: time.sleep(0.001), steps=8, seconds=0.3)
    assert report.about["loader"]["native"] and report.about["loader"]["class"] == "DataLoader"
    prepared, cold = report.phases["prepared"], report.phases["cold"]
    if "unknown" in cold:
        pytest.skip(cold["unknown"])
    assert prepared["kept"]["samples"] > 0 and report.model["fresh"]
    assert report.model["fresh_cpu"] > report.model["loading_cpu"] > 0
    assert report.model["kept_bytes"] > 0
    assert predict(Model.from_json(report.model), cache=1.0).fetch is None
