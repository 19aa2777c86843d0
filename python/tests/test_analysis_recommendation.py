"""The least of each resource, and the one thing to do."""

import itertools
from dataclasses import replace

import pytest

from drapps.analysis.model import predict
from drapps.analysis.recommendation import Machine, recommend
from drapps.errors import PipelineError
from python.tests.cells import some_full
from python.tests.test_analysis_model import BALANCED, IMAGENET, simulated

LARGE = Machine(cores=64, memory=1e12)
FETCHING = replace(BALANCED, prepare=[(1, 450.0), (2, 900.0)], storage=1e7, ingest=[(16, 400.0)])


@pytest.mark.parametrize(("target", "share"), [(8000, 0.4491), (10000, 0.5646), (20000, 0.7954)])
def test_the_published_inverse(target, share):
    model = replace(IMAGENET, ingest=[(512, target)])
    assert recommend(model, LARGE, 1e-6).cache == pytest.approx(share, abs=2e-3)


SEARCHES = list(itertools.product([150, 250, 400, 800], [0.02, 0.05, 0.1]))


@pytest.mark.parametrize(("training", "stall"), some_full(SEARCHES, (150, 0.02), (400, 0.1)))
def test_the_least_cache_is_that_of_a_brute_force_search(training, stall):
    model = replace(FETCHING, ingest=[(16, training)])
    steps = [number / 20 for number in range(20)]
    rates = {1.0: min(900, training)}
    for cache in steps:
        forecast = predict(model, cache=cache)
        rates[cache] = simulated([forecast.fetch, forecast.prepare, training], 16, 1, 4000, shape=4)
    best = simulated([1e9, 900, training], 16, 1, 4000, shape=4)
    least = next(share for share in (*steps, 1.0) if rates[share] >= (1 - stall) * best)
    assert recommend(model, LARGE, stall).cache == pytest.approx(least, abs=0.05)


def test_what_binds_is_what_is_recommended():
    advice = recommend(FETCHING, LARGE)
    assert advice.binding == "cache" and advice.enough
    assert f"{advice.cache:.0%}" in advice.action
    assert advice.gain == pytest.approx(predict(FETCHING, cache=advice.cache).throughput / 100)
    assert advice.settings == {"ram_budget": round(advice.cache * 1e8)}

    small = recommend(FETCHING, replace(LARGE, memory=1e6))
    assert small.binding == "bandwidth" and small.throughput == pytest.approx(380, rel=0.01)

    preparing = replace(FETCHING, cached=1.0, prepare=[(1, 50.0), (2, 100.0)])
    advice = recommend(preparing, LARGE)
    assert advice.binding == "workers" and advice.settings == {"num_workers": 8}
    assert advice.throughput == pytest.approx(400)
    advice = recommend(preparing, replace(LARGE, cores=2))
    assert advice.binding == "cores" and "8 cores" in advice.action
    advice = recommend(preparing, replace(LARGE, cores=2, core_share=0.1))
    assert advice.binding == "workers", "what sleeps needs workers, not cores"
    assert recommend(preparing, replace(LARGE, ours=True)).settings == {"cpu_budget": 8}

    serial = replace(preparing, prepare=[(1, 100.0), (2, 100.0)])
    assert "do not" in recommend(serial, LARGE).action

    training = recommend(replace(preparing, ingest=[(16, 20.0)]), LARGE)
    assert training.binding == "accelerator" and training.gain == 1


def test_loading_in_turn_is_first_put_beside_the_training():
    in_turn = replace(
        BALANCED,
        prepare=[(1, 380.0)],
        cached=1.0,
        cores=1,
        workers=0,
        overlap_training=0.0,
    )
    advice = recommend(in_turn, Machine(cores=2))
    assert advice.settings["num_workers"] == 1 and advice.cores == 1
    assert advice.what_if["beside"] and advice.throughput == pytest.approx(380)


@pytest.mark.parametrize("stall", [0, 1, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(stall):
    with pytest.raises(PipelineError, match="between 0 and 1"):
        recommend(BALANCED, LARGE, stall)
