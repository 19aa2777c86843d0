"""``drapps.analyze``: what a training waits for, measured on loaders that sleep."""

import itertools
import time

import numpy as np
import pytest

import drapps
from benchmarks.analyze.pipeline import World, analyzed
from benchmarks.analyze.scenario import bottleneck, cells, compared
from drapps.analysis.fit import cores_used
from drapps.analysis.loaders import size_of
from drapps.analysis.report import AnalysisReport, stored_at
from drapps.errors import PipelineError

BASE = World(fetch=200, prepare=300, training=400, cache=0.25, cores=2)


def slow(seconds):
    """Makes a function that sleeps: of a batch, or of a sample."""
    return lambda *_: time.sleep(seconds)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emulated")
    return analyzed(BASE, folder, 1.0), folder


@pytest.mark.full
def test_an_emulated_training_is_known_by_its_rates(base):
    report, _ = base
    # Sleeps never end early, so no rate is above what is emulated, but for the storage's burst.
    assert report.predict(cache=0).fetch == pytest.approx(200, rel=0.15)
    assert 400 < report.now.prepare < 620
    assert 250 < report.now.training < 402
    assert report.now.bottleneck == "fetch" and report.model["depth"] == 16
    assert report.recommendation.binding in ("cache", "bandwidth")
    assert "fetching" in str(report)


@pytest.mark.full
def test_what_is_predicted_for_a_cell_is_held_against_what_is_measured(base):
    report, folder = base
    cell = next(each for each in cells(BASE) if each.what_if == {"cache": 0.0})
    row = compared(cell, report, folder, 1.0)
    assert row["right"] and row["bottleneck"] == "fetch"
    assert row["samples_per_s"] < 230
    assert row["error"] == row["predicted_per_s"] / row["samples_per_s"] - 1
    assert bottleneck(BASE) == ("fetch", pytest.approx(1.5))


class Slow:
    """Batches of 4 that take so long, one after the other."""

    def __init__(self, seconds, batches=200):
        self.seconds, self.batches, self.begun = seconds, batches, 0

    def __iter__(self):
        self.begun += 1
        for _ in range(self.batches):
            time.sleep(self.seconds)
            yield {"x": np.zeros((4, 2)), "more": [1, 2]}


def test_any_iterable_is_analyzed_and_phases_resume(tmp_path):
    loader, file = Slow(0.03), tmp_path / "analysis.json"
    steps = []

    def step(batch):
        batch.pop("more")  # which every batch has, also those that are given again
        steps.append(batch["x"].shape)
        time.sleep(0.01)

    heard = []
    report = drapps.analyze(loader, step, file=file, steps=8, seconds=0.5, progress=heard.append)
    assert report.measured < 4 / 0.04 + 1
    assert report.model["overlap_training"] < 0.6
    assert report.now.fetch is None and "--data" in "".join(report.notes)
    assert report.attribution["prepare"] > report.attribution["training"] > 0.009
    assert "fetch" not in report.attribution
    assert len(heard) == 5 and steps
    assert str(stored_at(file)) == str(report)

    done, begun = len(steps), loader.begun
    again = drapps.analyze(loader, step, file=file, steps=8, seconds=0.5)
    assert len(steps) == done and loader.begun == begun and again.measured == report.measured

    other = AnalysisReport.of(
        {
            "about": report.about,
            "phases": report.phases | {"training": {"samples": 800, "seconds": 1.0, "batch": 8.0}},
        }
    )
    halfway = report.joined(other).predict(batch=6)
    assert report.now.training < halfway.training < other.now.training

    phases = dict(report.phases)
    del phases["storage"]
    with pytest.raises(PipelineError, match="not complete"):
        AnalysisReport.of({"about": report.about, "phases": phases})


def test_injected_sleeps_are_attributed_to_their_stage(tmp_path):
    torch = pytest.importorskip("torch")
    for number in range(64):
        (tmp_path / f"{number}.bin").write_bytes(bytes(20_000))

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, index):
            data = (tmp_path / f"{index}.bin").read_bytes()
            time.sleep(0.005)
            return torch.full((2,), float(len(data)))

    loader = torch.utils.data.DataLoader(Photos(), batch_size=4, num_workers=1)
    report = drapps.analyze(loader, slow(0.002), steps=8, seconds=0.5)
    assert report.about["loader"]["kind"] == "stock" and report.about["samples"] == 64
    assert report.phases["prepared"]["files"] == "files that were opened"
    if "unknown" not in report.phases["cold"]:
        assert report.model["sample_bytes"] == 20_000
    assert report.now.bottleneck == "prepare" and report.now.prepare < 201
    assert report.attribution["prepare"] > report.attribution.get("fetch", 0)
    assert report.recommendation.binding in ("workers", "cores")


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_cpu_time_of_training_and_preparing_is_measured():
    torch = pytest.importorskip("torch")

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, index):
            busy(0.003)
            return torch.zeros(2)

    loader = torch.utils.data.DataLoader(Photos(), batch_size=4)
    report = drapps.analyze(loader, lambda _: busy(0.008), steps=16, seconds=0.5)
    assert report.model["training_cpu"] == pytest.approx(0.002, rel=0.5)
    assert report.model["loading_cpu"] == pytest.approx(0.003, rel=0.5)
    assert report.model["machine_cores"] == report.about["machine"]["cores"]


def test_what_cannot_be_analyzed_is_refused(monkeypatch):
    with pytest.raises(PipelineError, match="int cannot be iterated"):
        drapps.analyze(5, print)
    with pytest.raises(PipelineError, match="no batches at all"):
        drapps.analyze([], print)
    once = (np.zeros(2) for _ in range(20))
    with pytest.raises(PipelineError, match="iterated twice"):
        drapps.analyze(once, slow(0), seconds=0.1, steps=30)
    with pytest.raises(PipelineError, match="too few"):
        drapps.analyze([np.zeros(2)], slow(0), seconds=0.1)
    with pytest.raises(PipelineError, match="seconds"):
        drapps.analyze([np.zeros(2)], print, seconds="long")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(PipelineError, match="drapps watch"):
        drapps.analyze(Slow(0.01), print)


@pytest.mark.parametrize(
    ("workers", "core_share", "used"), [(2, 1.0, 2), (8, 0.25, 2), (8, 0.05, 8), (1, 0.1, 1)]
)
def test_workers_that_sleep_count_and_others_share_the_cores(workers, core_share, used):
    assert cores_used({"cores": workers, "core_share": core_share}, 2.0) == used


def test_the_size_of_a_batch_is_that_of_its_first_array():
    array = np.zeros((3, 2))
    batches = [array, (array, 1), {"a": {"b": array}}, [["x", "y", "z"]], 7, np.zeros(())]
    assert [size_of(each) for each in batches] == [3, 3, 3, 3, 1, 1]
    assert size_of(itertools.count()) == 1
