"""The training step: equal to a plain one, or to one large batch, and the same when it resumes."""

import copy
import itertools
import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from drapps import PipelineError, train  # noqa: E402
from python.tests.ranks import TORCH, run_ranks  # noqa: E402
from python.tests.train.models import batches, loss_of, model_of, run, sgd, weights  # noqa: E402

torch.set_num_threads(1)


def test_a_step_of_nothing_else_is_the_plain_one_bit_for_bit():
    plain, model = model_of(), model_of()
    optimizer = sgd(plain)
    for batch in batches([16] * 6):
        loss_of(plain, batch).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert all(run(train.Step(model, sgd(model)), model, batches([16] * 6)))
    assert torch.equal(weights(model), weights(plain))


@pytest.mark.parametrize("sizes", [[16] * 4, [16, 16, 16, 5], [3, 16, 0, 1]])
def test_accumulation_is_one_large_batch(sizes):
    plain, model = model_of(), model_of()
    whole = [torch.cat(parts) for parts in zip(*batches(sizes), strict=True)]
    loss_of(plain, whole).backward()
    norm = torch.nn.utils.get_total_norm([each.grad for each in plain.parameters()])
    optimizer = sgd(model, rate=1.0)
    before = weights(model)
    step = train.Step(model, optimizer, batch=len(sizes))
    assert run(step, model, batches(sizes)) == [False] * (len(sizes) - 1) + [True]
    gradient = torch.cat([each.grad.flatten() for each in plain.parameters()])
    assert (before - weights(model) - gradient).norm() <= 1e-6 * norm
    assert step.samples == sum(sizes)


def test_a_weighted_mean_has_the_weights_for_its_samples():
    plain, model = model_of(), model_of()
    (first, second), before = batches([8, 8]), weights(model)
    scales = [torch.linspace(0.1, 2, 8), torch.full((8,), 3.0)]

    def losses(network, batch):
        return torch.nn.functional.cross_entropy(network(batch[0]), batch[1], reduction="none")

    whole = [torch.cat(parts) for parts in zip(first, second, strict=True)]
    both = torch.cat(scales)
    (losses(plain, whole) @ both / both.sum()).backward()
    gradient = torch.cat([each.grad.flatten() for each in plain.parameters()])
    step = train.Step(model, torch.optim.SGD(model.parameters(), 1.0), batch=2, noise=True)
    for batch, scale in zip((first, second), scales, strict=True):
        step.backward(losses(model, batch) @ scale / scale.sum(), samples=scale)
    assert (before - weights(model) - gradient).norm() <= 1e-6 * gradient.norm()
    assert step.samples == pytest.approx(float(both.sum()))
    assert step.noise.estimate.steps == 1
    with pytest.raises(PipelineError, match="over nan samples"):
        step.backward(losses(model, first).mean(), samples=-scales[0])


def test_a_ragged_end_of_an_epoch_is_a_step_of_its_own():
    model = model_of()
    step = train.Step(model, sgd(model), batch=4)
    assert run(step, model, batches([8] * 6)).count(True) == 1
    with pytest.raises(PipelineError, match="2 of 4 micro-batches are under way"):
        step.state_dict()
    assert step.finish()
    assert not step.finish()
    assert (step.steps, step.samples) == (2, 48)


def test_a_loss_of_several_numbers_is_refused():
    model = model_of()
    step = train.Step(model, sgd(model))
    with pytest.raises(PipelineError, match="give the mean"):
        step.backward(model(torch.ones(2, 8)), samples=2)
    with pytest.raises(PipelineError, match="learning_rate"):
        train.Step(model, sgd(model), scaling="linear")
    with pytest.raises(PipelineError, match="a noise scale is needed"):
        train.Step(model, sgd(model), batch=train.BatchSchedule(most=4), noise=False)
    with pytest.raises(PipelineError, match="none of auto, fp32"):
        train.Step(model, sgd(model), precision="fp8")


def everything(model, replay=None):
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    rate = train.WarmupCosine(optimizer, warmup=100, total=2000, quantum=8)
    batch = train.BatchSchedule(most=4, warmup=2, every=2, share=50.0, replay=replay)
    step = train.Step(
        model, optimizer, batch=batch, learning_rate=rate, scaling="adascale-adam", clip=1.0
    )
    return optimizer, step


def test_a_resumed_training_is_the_uninterrupted_one():
    given = list(batches([8] * 60))
    model = model_of(dropout=0.2)
    optimizer, step = everything(model)
    saved = None
    for number, batch in enumerate(given):
        with step:
            loss = loss_of(model, batch)
        report = step.backward(loss, samples=8)
        if report and saved is None and number > 20:
            parts = (model.state_dict(), optimizer.state_dict(), step.state_dict())
            saved = (copy.deepcopy(parts), torch.get_rng_state(), number)
    assert step.batch.accumulation > 1
    (weights_then, optimizer_then, step_then), random, number = saved
    other = model_of(seed=9, dropout=0.2)
    optimizer, resumed = everything(other)
    other.load_state_dict(weights_then)
    optimizer.load_state_dict(optimizer_then)
    resumed.load_state_dict(step_then)
    torch.set_rng_state(random)
    run(resumed, other, given[number + 1 :])
    assert torch.equal(weights(other), weights(model))
    assert resumed.batch.history == step.batch.history
    assert resumed.learning_rate.get_last_lr() == step.learning_rate.get_last_lr()
    assert str(resumed.report()) == str(step.report())


def test_a_state_of_another_step_is_refused():
    model = model_of()
    _, step = everything(model)
    with pytest.raises(PipelineError, match="of a step with noise"):
        train.Step(model, sgd(model)).load_state_dict(step.state_dict())
    with pytest.raises(PipelineError, match="of precision fp32"):
        train.Step(model, sgd(model), precision="fp16").load_state_dict(
            train.Step(model, sgd(model)).state_dict()
        )


def test_an_infinite_gradient_leaves_weights_and_halves_the_scale():
    model = model_of()
    rate = train.WarmupCosine(optimizer := sgd(model), total=100)
    step = train.Step(model, optimizer, precision="fp16", learning_rate=rate, noise=True)
    assert run(step, model, batches([8] * 3)) == [True] * 3
    before, scale, progress = weights(model), step.precision.scale, rate.progress
    for batch in batches([8]):
        with step:
            loss = loss_of(model, batch) * math.inf
        assert not step.backward(loss, samples=8)
    assert torch.equal(weights(model), before)
    assert step.precision.scale == scale / 2
    assert (step.precision.skipped, step.steps, rate.progress) == (1, 3, progress)
    assert step.precision.scales[-1] == (4, scale / 2)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_other_precisions_never_scale(kind):
    model = model_of()
    step = train.Step(model, sgd(model), precision=kind)
    run(step, model, batches([8] * 3))
    assert step.precision.scale == 1.0
    with step:
        product = model(torch.ones(1, 8))
    assert product.dtype == (torch.bfloat16 if kind == "bf16" else torch.float32)


def test_auto_says_why():
    precision = train.Precision("auto")
    assert precision.kind in ("fp32", "bf16")
    assert "as fast in bf16" in precision.why


def test_a_single_micro_batch_is_halved_now_and_then():
    model = model_of()
    step = train.Step(model, sgd(model), noise=True)
    plain = model_of()
    other = train.Step(plain, sgd(plain))
    halves = 0
    for batch in batches([8] * 40):
        parts = list(step.parts(*batch))
        halves += len(parts) == 2
        for part in step.parts(*batch):
            with step:
                loss = loss_of(model, part)
            step.backward(loss, samples=len(part[0]))
        run(other, plain, [batch])
    assert halves == 2
    assert step.noise.estimate.steps == 2
    assert step.steps == 40
    assert torch.allclose(weights(model), weights(plain), atol=1e-6)


def test_the_learning_rate_has_its_values_at_the_edges():
    optimizer = sgd(model_of(), rate=2.0)
    rate = train.WarmupCosine(optimizer, warmup=4, total=12, least=0.2)
    seen = [rate.get_last_lr()[0]]
    for _ in range(14):
        optimizer.step()
        rate.step()
        seen.append(rate.get_last_lr()[0])
    assert seen[:5] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert seen[8] == pytest.approx(1.1)
    assert seen[12:] == [0.2] * 3
    assert all(a >= b for a, b in itertools.pairwise(seen[4:]))
    with pytest.raises(PipelineError, match="no schedule"):
        train.WarmupCosine(optimizer, total=3, warmup=4)


def test_the_learning_rate_is_counted_in_samples():
    def trained(sizes):
        model = model_of()
        optimizer = sgd(model)
        rate = train.WarmupCosine(optimizer, warmup=32, total=160, quantum=16)
        run(train.Step(model, optimizer, learning_rate=rate), model, batches(sizes))
        return rate.get_last_lr()

    assert trained([16] * 5) == pytest.approx(trained([20] * 4))


@pytest.mark.parametrize(("rule", "factor"), [("none", 1.0), ("linear", 4.0), ("sqrt", 2.0)])
def test_rates_follow_the_batch(rule, factor):
    assert train.scaled(rule, 256, 64) == factor
    with pytest.raises(PipelineError, match="none of none"):
        train.scaled("cube", 256, 64)
    with pytest.raises(PipelineError, match="needs a noise scale"):
        train.scaled("adascale", 256, 64)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_are_accumulation_of_the_same_micro_batches(ranks, tmp_path):
    sizes = [8, 8, 8, 8, 8, 8, 8, 5]
    model = model_of()
    alone = train.Step(model, sgd(model), batch=len(sizes) // 2, noise=True)
    run(alone, model, batches(sizes))
    script = Path(__file__).with_name("on_a_rank.py")
    for printed in run_ranks([script, json.dumps(sizes)], tmp_path, ranks, modules=TORCH):
        answer = json.loads(printed.splitlines()[-1])
        assert torch.allclose(torch.tensor(answer["weights"]), weights(model), atol=1e-6)
        assert answer["noise"] == pytest.approx(alone.noise.estimate.noise, rel=1e-4)
        assert answer["gradient"] == pytest.approx(alone.noise.estimate.gradient, rel=1e-3)
        assert answer["samples"] == alone.samples
