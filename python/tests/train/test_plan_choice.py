"""Which step a plan takes, of a model of steps whose numbers are made up."""

import math

import pytest

torch = pytest.importorskip("torch")

from drapps.train import NoiseEstimate, adascale_gain  # noqa: E402
from drapps.train.planning import choice  # noqa: E402
from drapps.train.planning.model import (  # noqa: E402
    Recomputing,
    StepModel,
    combined,
    efficiency,
    overlap_of,
)
from drapps.train.planning.probing import Measured  # noqa: E402

MIB = 1 << 20


def stages(rate=math.inf, fp32=1.0, bf16=None, overlap=10.0, once=0.002, ranks=1):
    """A micro-batch of m samples takes 4 ms and 1 ms a sample, and 10 MiB each."""

    def sizes(share):
        return {
            size: Measured((0.004 + 0.001 * size) * share, 10.0 * MIB * size)
            for size in (4, 8, 16, 32)
        }

    measured = {"fp32": sizes(fp32)} | ({} if bf16 is None else {"bf16": sizes(bf16)})
    half = Recomputing(peak=0.5, seconds=1.3)
    return StepModel(measured, half, once, 100.0 * MIB, rate, overlap, ranks)


def wanted(target="goodput", memory=math.inf, noise=512.0, reference=16, most=256):
    return choice.Wanted(target, memory, noise, reference, reference, most, (1, 2, 4, 8, 16, 32))


def test_the_best_of_all_is_found():
    model, asked = stages(rate=900.0, bf16=0.7, overlap=3.0), wanted(noise=100.0)
    candidate = choice.steps(model, asked)[0]
    best = 0.0
    for share in (1.0, 0.7):
        for micro in asked.micros:
            for power in range(9):
                samples = micro << power
                if not 16 <= samples <= 256:
                    continue
                micro_seconds = (0.004 + 0.001 * micro) * share
                if micro < 4:  # below what was measured: along the line
                    micro_seconds = max(micro_seconds, 0.008 * share * micro / 4)
                step = (1 << power) * micro_seconds + 0.002
                whole = (step**3 + (samples / 900) ** 3) ** (1 / 3)
                best = max(best, samples / whole * (100 + 16) / (100 + samples))
    assert candidate.goodput == pytest.approx(best)
    assert candidate.precision == "bf16"


@pytest.mark.parametrize(
    ("model", "asked", "binds"),
    [
        (stages(rate=200.0), wanted(), "loader"),
        (stages(), wanted(memory=150 * MIB), "memory"),
        (stages(once=0.5), wanted(noise=8.0), "noise"),
        (stages(), wanted(most=16), "compute"),
    ],
)
def test_what_binds_is_named(model, asked, binds):
    gained = choice.gains(model, asked)
    assert choice.binding(gained) == binds
    assert all(gain >= 1 - 1e-9 for gain in gained.values())


def test_nothing_that_fits_takes_more_memory_than_there_is():
    for memory in range(110, 500, 20):
        steps = choice.steps(stages(), wanted(memory=memory * MIB))
        assert all(each.peak_bytes <= memory * MIB + 1 for each in steps)
        assert steps
    assert not choice.steps(stages(), wanted(memory=100 * MIB))


def test_recomputing_is_what_a_larger_micro_batch_costs():
    steps = choice.steps(stages(), wanted(memory=300 * MIB))
    shares = {each.micro_batch: each.recomputed for each in steps}
    assert shares[16] == 0  # 160 MiB in 200
    assert shares[32] == pytest.approx((320 - 200) / (320 - 160))


def test_the_least_memory_is_within_its_time():
    model = stages()
    best = choice.steps(model, wanted())[0]
    least = choice.steps(model, wanted("memory"))[0]
    assert least.peak_bytes < best.peak_bytes
    assert least.goodput >= best.goodput / choice.SLOWER


def test_throughput_is_blind_to_what_samples_are_worth():
    best = choice.steps(stages(), wanted("throughput", noise=1.0))
    assert best[0].samples == 256
    assert choice.steps(stages(), wanted(noise=1.0))[0].samples == 16
    unknown = choice.steps(stages(), wanted("throughput", noise=math.nan))
    assert unknown[0].samples == 256
    assert math.isnan(unknown[0].efficiency)


def test_without_a_noise_scale_steps_keep_their_samples():
    steps = choice.steps(stages(), wanted(noise=math.nan))
    assert {each.samples for each in steps} == {16}
    assert {each.efficiency for each in steps} == {1.0}


def test_ranks_share_a_step():
    step = choice.steps(stages(ranks=4, rate=1e6), wanted(reference=64))[0]
    assert step.samples == step.micro_batch * step.accumulation * 4


@pytest.mark.parametrize("overlap", [1.0, 1.7, 4.0, 10.0])
def test_the_overlap_is_found_again(overlap):
    together = combined(0.3, 0.2, overlap)
    assert combined(0.3, 0.2, overlap_of(together, 0.3, 0.2)) == pytest.approx(together)
    assert 0.3 <= together <= 0.5


def test_a_loader_that_takes_no_time_says_nothing_of_the_overlap():
    assert overlap_of(0.9, 0.3, 0.001) == 10.0
    assert overlap_of(9.0, 0.3, 0.3) == pytest.approx(1.0)


def test_the_efficiency_is_adascales_gain_by_sample():
    estimate = NoiseEstimate(9, gradient=2.0, noise=600.0, scale=300.0, low=1.0, high=999.0)
    gain = adascale_gain(estimate, 128, 32)
    assert efficiency(300.0, 128, 32) == pytest.approx(gain / (128 / 32))
