"""Models and batches of all kinds: a step works, or says why not and leaves all as it was."""

import contextlib
import json
import math
import sys
import types
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from drapps import PipelineError, train  # noqa: E402
from python.tests.ranks import TORCH, run_ranks  # noqa: E402
from python.tests.train.models import batches, loss_of, model_of, run, sgd, weights  # noqa: E402

torch.set_num_threads(1)
nn = torch.nn


def accumulated(model, plain, sizes=(8, 8)):
    """Weights after a step of several micro-batches, and after one of the large batch."""
    step = train.Step(model, sgd(model), batch=len(sizes), noise=True)
    assert run(step, model, batches(sizes))[-1]
    whole = [torch.cat(parts) for parts in zip(*batches(sizes), strict=True)]
    loss_of(plain, whole).backward()
    sgd(plain).step()
    assert step.noise.estimate.steps == 1
    return weights(model), weights(plain)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_loss_that_is_not_finite_is_as_in_a_plain_step(precision):
    plain, model = model_of(), model_of()
    optimizer = sgd(plain)
    step = train.Step(model, sgd(model), precision=precision, batch=2, noise=True)
    (batch,) = batches([8])
    for factor in (1.0, math.nan):
        with step:
            loss = loss_of(model, batch) * factor
        step.backward(loss, samples=8)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(plain, batch) * factor
        (loss / 2).backward()
    optimizer.step()
    assert torch.isnan(weights(plain)).all()
    assert torch.isnan(weights(model)).all()  # torch skips no steps either, but those of fp16
    assert step.noise.estimate.steps == 0
    assert step.batch.accumulation == 2


def test_a_loss_that_is_not_finite_is_skipped_in_fp16():
    model = model_of()
    step = train.Step(model, sgd(model), precision="fp16", batch=2, noise=True)
    before = weights(model)
    for factor, batch in zip((1.0, math.nan), batches([8, 8]), strict=True):
        with step:
            loss = loss_of(model, batch) * factor
        assert not step.backward(loss, samples=8)
    assert torch.equal(weights(model), before)
    assert (step.precision.skipped, step.noise.estimate.steps) == (1, 0)
    assert run(step, model, batches([8, 8]))[-1]
    assert not torch.equal(weights(model), before)


def test_empty_batches_alone_make_no_step():
    model = model_of()
    step = train.Step(model, sgd(model), batch=2, noise=True)
    before = weights(model)
    assert run(step, model, batches([0, 0])) == [False, False]
    assert torch.equal(weights(model), before)
    assert (step.steps, step.samples) == (0, 0)
    assert all(each.grad is None for each in model.parameters())
    assert run(step, model, batches([0, 8])) == [False, True]
    assert torch.isfinite(weights(model)).all()


def test_a_ragged_last_batch():
    ours, plain = accumulated(model_of(), model_of(), sizes=(8, 8, 3))
    assert torch.allclose(ours, plain, atol=1e-6)


def test_a_model_without_blocks():
    model = nn.Linear(8, 4)
    step = train.Step(model, sgd(model), batch=2)
    assert "two blocks" in train.checkpoint(model, torch.randn(4, 8), memory=10).reason
    assert run(step, model, batches([8, 8]))[-1]


def test_frozen_parameters_stay():
    def frozen():
        network = model_of()
        network[0].requires_grad_(False)
        return network

    model, before = frozen(), model_of()
    ours, plain = accumulated(model, frozen())
    assert torch.allclose(ours, plain, atol=1e-6)
    assert torch.equal(model[0].weight, before[0].weight)
    assert model[0].weight.grad is None


class Tied(nn.Module):
    """One matrix for both of its layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).tanh())[:, :4]


def test_shared_weights_count_once():
    model = Tied()
    ours, plain = accumulated(model, Tied())
    assert torch.allclose(ours, plain, atol=1e-6)
    separate = Tied()
    step = train.Step(separate, sgd(separate), batch=2, noise=True)
    singles = []
    for batch in batches([8, 8]):
        separate.zero_grad()
        loss_of(separate, batch).backward()
        singles.append(sum(float(each.grad.square().sum()) for each in separate.parameters()))
    separate.zero_grad()
    run(step, separate, batches([8, 8]))
    estimate = step.noise.estimate
    # mean |g_i|² is |G|² + tr Σ ÷ 8
    assert estimate.gradient + estimate.noise / 8 == pytest.approx(sum(singles) / 2, rel=1e-4)


@contextlib.contextmanager
def compiling():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("in_place", [False, True])
def test_compiled_models(backend, in_place):
    with compiling():
        model = model_of()
        compiled = model
        if in_place:
            model.compile(backend=backend)
        else:
            compiled = torch.compile(model, backend=backend)
        ours, plain = accumulated(compiled, model_of())
    assert torch.allclose(ours, plain, atol=1e-6)


def test_what_shards_is_refused(tmp_path):
    script = Path(__file__).with_name("on_a_sharded_rank.py")
    (printed,) = run_ranks([script], tmp_path, 1, modules=TORCH)
    messages = json.loads(printed.splitlines()[-1])
    assert messages.pop("whole") == "nothing"
    names = {
        "fully_shard": "FSDPModule",
        "parameters": "DTensor",
        "wrapper": "FullyShardedDataParallel",
        "optimizer": "ZeroRedundancyOptimizer",
    }
    assert messages.keys() == names.keys()
    for what, message in messages.items():
        assert message.startswith(names[what]), what
        assert "use DistributedDataParallel" in message


def test_deepspeed_is_refused(monkeypatch):
    module = types.ModuleType("deepspeed.runtime.engine")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    class DeepSpeedEngine(nn.Module):
        __module__ = module.__name__

        def __init__(self):
            super().__init__()
            self.module = model_of()

    engine = DeepSpeedEngine()
    with pytest.raises(PipelineError, match="DeepSpeedEngine leaves each rank"):
        train.Step(engine, sgd(engine))
    model = model_of()
    model[0].weight.ds_id = 0
    with pytest.raises(PipelineError, match="DeepSpeed leaves each rank"):
        train.NoiseScale(model)
