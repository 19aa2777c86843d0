"""The gradient noise scale, against gradients whose mean and covariance are known."""

import json
import math

import pytest

torch = pytest.importorskip("torch")

from drapps import PipelineError  # noqa: E402
from drapps.train import BatchSchedule, NoiseEstimate, NoiseScale, adascale_gain  # noqa: E402
from python.tests.cells import some_full  # noqa: E402

WIDTH = 200


class Linear(torch.nn.Module):
    """Its gradient is the mean of its input over the samples."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(WIDTH, dtype=dtype))

    def forward(self, samples):
        return (samples @ self.weight).mean()


def measured(sizes, steps, gradient=1.0, spread=1.0, weight=1.0, average=0.99, seed=1, again=None):
    """A noise scale after steps of micro-batches of these sizes; the truth is spread² · WIDTH.

    At step `again` it is another one, which goes on from the state of the first.
    """
    model = Linear()
    noise = NoiseScale(model, average=average)
    generator = torch.Generator().manual_seed(seed)
    mean = torch.full((WIDTH,), gradient / math.sqrt(WIDTH))
    singles = []
    for number in range(steps):
        if number == again:
            state = json.loads(json.dumps(noise.state_dict()))
            model = Linear()
            noise = NoiseScale(model, average=average)
            noise.load_state_dict(state)
        model.zero_grad()
        for size in sizes:
            samples = mean + spread * torch.randn(size, WIDTH, generator=generator)
            noise.begin(weight * size / sum(sizes))
            (model(samples) * weight * size / sum(sizes)).backward()
            noise.end(size)
        model.weight.grad /= weight
        before = noise.state_dict()["sums"][:2]
        assert noise.step() == (len(sizes) > 1)
        after = noise.state_dict()["sums"][:2]
        singles.append(
            [(b - average * a) / (1 - average) for a, b in zip(before, after, strict=True)]
        )
    return noise.estimate, torch.tensor(singles)


def test_the_estimate_is_near_the_truth():
    estimate, _ = measured([32] * 16, 600)
    assert estimate.steps == 600
    assert estimate.scale == pytest.approx(WIDTH, rel=0.1)
    assert estimate.low < WIDTH < estimate.high


@pytest.mark.parametrize("sizes", some_full([[4, 4], [1, 5, 2], [8] * 4], [1, 5, 2]))
def test_numerator_and_denominator_are_unbiased(sizes):
    _, singles = measured(sizes, 1500)
    for values, truth in zip(singles.T, (WIDTH, 1.0), strict=True):
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - truth) < 3 * error


def test_weighted_samples_count_as_those_that_would_be_as_noisy():
    model = Linear()
    noise = NoiseScale(model, average=0.0)
    generator = torch.Generator().manual_seed(3)
    mean = torch.full((WIDTH,), 1 / math.sqrt(WIDTH))
    singles = []
    for _ in range(1500):
        model.zero_grad()
        weights = [5 * torch.rand(size, generator=generator) ** 2 for size in (4, 7)]
        total = sum(float(each.sum()) for each in weights)
        for each in weights:
            samples = mean + torch.randn(len(each), WIDTH, generator=generator)
            share = float(each.sum()) / total
            noise.begin(share)
            (each / each.sum() @ (samples @ model.weight) * share).backward()
            noise.end(float(each.sum()), float(each.sum() ** 2 / each.square().sum()))
        assert noise.step()
        singles.append([noise.estimate.noise, noise.estimate.gradient])
    for values, truth in zip(torch.tensor(singles).T, (WIDTH, 1.0), strict=True):
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - truth) < 3 * error


def test_the_scale_of_the_loss_changes_nothing():
    plain, _ = measured([8, 8], 50)
    scaled, _ = measured([8, 8], 50, weight=1024.0)
    assert scaled.scale == pytest.approx(plain.scale, rel=1e-4)


def test_one_micro_batch_says_nothing():
    estimate, _ = measured([64], 5)
    assert estimate.steps == 0
    assert math.isnan(estimate.scale)


def test_noise_that_hides_the_gradient_is_no_scale():
    estimate, _ = measured([2, 2], 3, gradient=0.0, average=0.0, seed=4)
    assert math.isnan(estimate.scale) or estimate.scale > 0
    assert estimate.high == math.inf or estimate.steps > 1


def test_a_gradient_that_is_not_finite_is_left_out():
    model = Linear()
    noise = NoiseScale(model)
    for size in (2, 2):
        noise.begin(0.5)
        (model(torch.full((size, WIDTH), math.inf)) * 0.5).backward()
        noise.end(size)
    assert not noise.step()
    assert noise.estimate.steps == 0


def test_adams_second_moment_is_what_gradients_are_measured_in():
    model = Linear()
    optimizer = torch.optim.Adam(model.parameters(), eps=0.0)
    noise = NoiseScale(model, preconditioner=optimizer)
    model(torch.full((1, WIDTH), 3.0)).backward()
    optimizer.step()
    model.zero_grad()
    for value in (3.0, 6.0):
        noise.begin(0.5)
        (model(torch.full((1, WIDTH), value)) * 0.5).backward()
        noise.end(1)
    assert noise.step()
    # |g|² are 1 and 4 times WIDTH, in units of Adam's, and that of their mean is 2.25 times.
    assert noise.estimate.noise == pytest.approx((2.5 - 2.25) / (1 - 1 / 2) * WIDTH, rel=1e-4)


def test_it_goes_on_from_its_state():
    whole, _ = measured([8, 8], 30)
    assert whole.steps == 30
    assert measured([8, 8], 30, again=13)[0] == whole


def test_a_model_that_is_frozen_is_refused():
    model = Linear()
    model.weight.requires_grad = False
    with pytest.raises(PipelineError, match="requires a gradient"):
        NoiseScale(model)
    with pytest.raises(PipelineError, match="decay"):
        NoiseScale(Linear(), average=1.0)


def known(scale, steps=500):
    return NoiseEstimate(steps, 1.0, scale, scale, scale * 0.9, scale * 1.1)


def test_the_gain_of_adascale_lies_between_one_and_the_batch():
    assert adascale_gain(known(1e9), 512, 64) == pytest.approx(8, rel=1e-3)
    assert adascale_gain(known(1e-9), 512, 64) == pytest.approx(1, rel=1e-3)
    assert adascale_gain(known(64.0), 128, 64) == pytest.approx((1 + 1) / (0.5 + 1))
    assert adascale_gain(known(math.nan), 512, 64) == 1


def test_the_batch_follows_the_noise_with_hysteresis():
    schedule = BatchSchedule(most=8, warmup=10, every=5)
    moves = [schedule.step(known(90.0), 32 * schedule.accumulation) for _ in range(20)]
    assert moves[:4] == [1] * 4
    assert moves[-1] == 2  # 64 samples: 90 is not 1.5 times as many
    for _ in range(40):
        schedule.step(known(10_000.0), 32 * schedule.accumulation)
    assert schedule.accumulation == 8
    for _ in range(40):
        schedule.step(known(1.0), 32 * schedule.accumulation)
    assert schedule.accumulation == 1
    assert [each[1] for each in schedule.history] == [1, 2, 4, 8, 4, 2, 1]


def test_what_is_not_known_moves_no_batch():
    schedule = BatchSchedule(most=8, warmup=10, every=1)
    schedule.step(known(1e6, steps=9), 32)
    schedule.step(known(math.nan), 32)
    assert schedule.accumulation == 1


def test_a_history_is_replayed_from_a_file(tmp_path):
    schedule = BatchSchedule(most=8, warmup=0, every=3)
    first = [schedule.step(known(1e6), 32 * schedule.accumulation) for _ in range(12)]
    schedule.save(tmp_path / "batches.json")
    again = BatchSchedule(most=8, replay=tmp_path / "batches.json")
    assert [again.step(known(1.0), 1) for _ in range(12)] == first
    assert again.history == schedule.history
    with pytest.raises(FileExistsError):
        schedule.save(tmp_path / "batches.json")


@pytest.mark.parametrize("history", [[], [[1, 2]], [[0, 1], [0, 2]], [[0, 0]], [["a", 1]], 7])
def test_what_is_no_history_is_refused(history):
    with pytest.raises(PipelineError, match="no history of a batch schedule"):
        BatchSchedule(most=8, replay=history)


def test_a_schedule_goes_on_from_its_state():
    schedule = BatchSchedule(most=8, warmup=0, every=3)
    for _ in range(4):
        schedule.step(known(1e6), 32)
    other = BatchSchedule(most=8, warmup=0, every=3)
    other.load_state_dict(schedule.state_dict())
    for _ in range(10):
        assert other.step(known(1e6), 32) == schedule.step(known(1e6), 32)
    with pytest.raises(PipelineError, match="rising"):
        BatchSchedule(most=1, least=2)
