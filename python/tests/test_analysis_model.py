"""What a measured training is predicted to do on other hardware."""

import json
import random
from dataclasses import replace

import pytest

from drapps.analysis.fit import fit
from drapps.analysis.model import Model, loading_cpu_s, overlap_of, predict
from drapps.errors import PipelineError

_MB = 1e6
IMAGENET = Model(
    prepare=[(1, 1e9)],
    ingest=[(512, 1e9)],
    samples=1_281_167,
    sample_bytes=146 * 1024 * _MB / 1_281_167,
    storage=525 * _MB,
    memory=20 * 1024 * _MB,
)
# Cache share and samples/s, by the published formula.
GOLDEN = {
    0.0: 4499.0,
    0.25: 5947.8,
    0.35: 6827.2,
    0.5: 8773.0,
    0.65: 12270.0,
    0.75: 16710.7,
    0.9: 36555.7,
    0.95: 60508.1,
}
BALANCED = Model(
    prepare=[(1, 100.0), (2, 200.0)],
    ingest=[(16, 400.0), (32, 640.0)],
    samples=1000,
    sample_bytes=1e5,
    storage=3e7,
    cores=2,
    workers=2,
)


@pytest.mark.parametrize("cache", GOLDEN)
def test_the_published_what_if_vectors(cache):
    forecast = predict(IMAGENET, cache=cache)
    assert forecast.fetch == pytest.approx(GOLDEN[cache], rel=1e-3)
    assert forecast.throughput == forecast.fetch and forecast.bottleneck == "fetch"


def test_the_slowest_stage_bounds_the_training():
    forecast = predict(BALANCED, cache=0)
    assert (forecast.fetch, forecast.prepare, forecast.training) == pytest.approx((300, 200, 400))
    assert forecast.throughput == pytest.approx(200)
    assert forecast.bottleneck == "prepare" and forecast.stall == pytest.approx(0.5)
    assert predict(BALANCED, cores=1).throughput == pytest.approx(100)
    assert predict(BALANCED, cores=8, bandwidth=6e7).bottleneck == "training"
    assert predict(BALANCED, cores=8).bottleneck == "fetch"
    assert predict(BALANCED, accelerator=0.25).stall == pytest.approx(0)


def test_requests_bound_the_storage_however_fast_it_is():
    limited = replace(BALANCED, requests=50.0)
    assert predict(limited, bandwidth=1e12).fetch == pytest.approx(50)
    assert predict(limited, cache=0.5).fetch == pytest.approx(100)


def test_amdahl_is_laid_through_several_points():
    serial, rest = 0.004, 0.006
    points = [(cores, 1 / (serial + rest / cores)) for cores in (1, 2, 4)]
    forecast = predict(replace(BALANCED, prepare=points, cores=4), cores=16)
    assert forecast.prepare == pytest.approx(1 / (serial + rest / 16))
    faster_than_linear = replace(BALANCED, prepare=[(1, 100.0), (2, 220.0)])
    assert predict(faster_than_linear, cores=8).prepare < 8 * 110
    not_at_all = replace(BALANCED, prepare=[(1, 100.0), (2, 90.0)])
    assert predict(not_at_all, cores=8).prepare == pytest.approx(95, rel=0.01)


def test_stages_in_turn_take_the_time_of_both():
    in_turn = replace(BALANCED, cores=1, workers=0, overlap_training=0.0, overlap_loading=0.0)
    forecast = predict(in_turn, cache=0)
    assert 1 / forecast.throughput == pytest.approx(1 / 300 + 1 / 100 + 1 / 400)
    assert "take turns" in forecast.regime
    beside = predict(in_turn, cache=1, beside=True)
    assert beside.throughput == pytest.approx(100)
    assert overlap_of(3.0, 1.0, 4.0) == 0 and overlap_of(3.0, 1.0, 3.0) == 1
    assert overlap_of(3.0, 1.0, 3.5) == pytest.approx(0.5) and overlap_of(3.0, 1.0, 9.0) == 0


def test_loading_and_training_share_the_cores():
    on_cpu = replace(
        BALANCED,
        cores=1,
        workers=0,
        overlap_training=0.0,
        machine_cores=2.0,
        training_cpu=2 / 400,  # two cores, as long as a step takes
        loading_cpu=1 / 100,
    )
    assert predict(on_cpu, cache=1).throughput == pytest.approx(1 / (1 / 100 + 1 / 400))
    beside = predict(on_cpu, cache=1, cores=2)
    assert beside.throughput == pytest.approx(2 / (2 / 400 + 1 / 100))
    assert beside.bottleneck == "cores" and beside.stall == pytest.approx(1 - 133.3 / 400, abs=0.01)
    assert predict(on_cpu, cache=1, cores=4).throughput == pytest.approx(4 / (2 / 400 + 1 / 100))
    elsewhere = replace(on_cpu, training_cpu=0.0)
    assert predict(elsewhere, cache=1, cores=2).bottleneck == "prepare"
    with pytest.raises(PipelineError, match="CPU times"):
        replace(on_cpu, loading_cpu=-1.0)


def test_threads_of_a_training_that_spin_between_its_steps_take_cores_of_the_loading():
    phases = {
        "as_it_is": {"samples": 800, "seconds": 1.0, "cpu_s": 0.9},
        "training": {"samples": 1000, "seconds": 0.05, "cpu_s": 0.1, "batch": 16},
        "prepared": {
            "points": [
                {
                    "cores": 2.0,
                    "samples": 1250,
                    "seconds": 1.0,
                    "core_share": 1.0,
                    "used": 2.0,
                    "foreign": 0.0,
                }
            ],
            "cores": 2.0,
        },
        "cold": {"unknown": "no file was seen"},
        "storage": {"unknown": "no file was seen"},
    }
    about = {"workers": 2, "depth": 4, "samples": 1000, "in_turn": False}
    about |= {"machine": {"cores": 2.0}, "loader": {"num_workers": 2}}
    estimate = fit(phases, about)
    assert estimate.model.training_cpu == pytest.approx(2 / 800 - 2 / 1250)  # of 0.9 / 800 wanted
    assert estimate.bound == pytest.approx(800) and estimate.trusted
    assert predict(estimate.model).bottleneck == "cores"
    assert any("uses 0.6 cores beside its steps" in note for note in estimate.notes)
    native = fit(phases, about | {"loader": {"num_workers": 2, "native": True}})
    assert native.model.training_cpu == pytest.approx(0.1 / 1000)
    assert not any("spin" in note for note in native.notes)


def test_cores_that_slow_each_other_down_take_more_cpu_time():
    slow = replace(BALANCED, prepare=[(1, 900.0), (2, 1350.0)], cores=1, loading_cpu=1 / 900)
    assert loading_cpu_s(slow, 0.0, 1) == pytest.approx(1 / 900)
    assert loading_cpu_s(slow, 0.0, 2) == pytest.approx(2 / 1350)


def test_batches_lie_between_two_that_were_measured():
    assert predict(BALANCED, batch=24).training == pytest.approx(24 / ((0.04 + 0.05) / 2))
    for batch in (8, 64):
        with pytest.raises(PipelineError, match="16 and 32"):
            predict(BALANCED, batch=batch)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"cores": 9}, "4 times the 2"),
        ({"cache": 1.2}, "from 0 to 1"),
        ({"bandwidth": -1}, "above 0"),
        ({"cores": float("nan")}, "above 0"),
    ],
)
def test_what_cannot_be_predicted_is_refused(wanted, message):
    with pytest.raises(PipelineError, match=message):
        predict(BALANCED, **wanted)


def test_without_files_fetching_is_part_of_preparing():
    unknown = replace(BALANCED, sample_bytes=None, storage=None)
    assert predict(unknown).fetch is None
    with pytest.raises(PipelineError, match="--data"):
        predict(unknown, bandwidth=1e9)


def test_a_model_is_json():
    stored = json.loads(json.dumps(BALANCED.to_json()))
    assert predict(Model.from_json(stored), cache=0.3) == predict(BALANCED, cache=0.3)
    with pytest.raises(PipelineError, match="no model"):
        Model.from_json({"prepare": [[1, 2.0]]})
    with pytest.raises(PipelineError, match="above 0"):
        Model.from_json({"prepare": [[1, 0.0]], "ingest": [[1, 1.0]]})


def simulated(rates, depth, seed, batches=20_000, shape=1):
    """Batches/s of three stages with `depth` places between each two.

    Times have a gamma distribution: exponential of shape 1, with a coefficient of variation of a
    half of shape 4.
    """
    draw = random.Random(seed)
    left = [[0.0] * (depth + 1) for _ in rates]  # when the latest batches have left each stage
    for _ in range(batches):
        arrived = 0.0
        for stage, rate in enumerate(rates):
            begun = max(arrived, left[stage][-1])
            done = begun + draw.gammavariate(shape, 1 / (shape * rate))
            if stage + 1 < len(rates):  # it leaves where there is a place
                done = max(done, left[stage + 1][0])
            left[stage] = [*left[stage][1:], done]
            arrived = done
    return batches / left[-1][-1]


@pytest.mark.parametrize("rates", [(100, 150, 200), (150, 100, 160), (100, 105, 110)])
@pytest.mark.parametrize("depth", [1, 4, 16])
def test_the_regime_says_where_the_bound_is_honest(rates, depth):
    model = Model(
        prepare=[(1, rates[1])],
        ingest=[(1, rates[2])],
        sample_bytes=1.0,
        storage=rates[0],
        depth=depth,
    )
    forecast = predict(model)
    measured = simulated(rates, depth, seed=1)
    assert measured < forecast.throughput * 1.03
    if forecast.honest:
        assert forecast.throughput == pytest.approx(measured, rel=0.1)
    else:
        assert "upper bound" in forecast.regime and forecast.throughput > 1.1 * measured
