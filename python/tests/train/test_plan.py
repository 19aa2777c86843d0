"""A plan of a small training: what it measures, what it leaves alone, and what it carries out."""

import json
import math
import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from drapps import PipelineError, train  # noqa: E402
from drapps.train.planning.optimizer_cost import optimizer_cost  # noqa: E402
from python.tests.ranks import TORCH, run_ranks  # noqa: E402
from python.tests.train.models import batches, loss_of, model_of, sgd, weights  # noqa: E402

torch.set_num_threads(1)
QUICK = {"loss": loss_of, "seconds": 5.0}
UNKNOWN = train.NoiseEstimate(0, math.nan, math.nan, math.nan, 0.0, math.inf)


class Samples(torch.utils.data.Dataset):
    """Random ones."""

    def __init__(self, count=256):
        self.inputs, self.labels = next(batches([count]))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.inputs[index], self.labels[index]


LOADERS = {
    "stock": lambda: torch.utils.data.DataLoader(Samples(), 16, shuffle=True),
    "in-process": lambda: drapps.torch.DataLoader(Samples(), 16, shuffle=True),
    "workers": lambda: drapps.torch.DataLoader(Samples(), 16, shuffle=True, num_workers=1),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_measuring_changes_nothing(kind):
    model, loader = model_of(dropout=0.5), LOADERS[kind]()
    model.append(torch.nn.BatchNorm1d(4))
    optimizer = sgd(model)
    loss_of(model, next(batches([8]))).backward()
    optimizer.step()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    gradients = [each.grad.clone() for each in model.parameters()]
    momenta = [each["momentum_buffer"].clone() for each in optimizer.state.values()]
    torch.manual_seed(11)
    random.seed(11)
    before = loader.state_dict() if hasattr(loader, "state_dict") else None
    plan = train.plan(model, loader, optimizer, noise=64.0, memory="1GiB", **QUICK)
    drawn = (torch.rand(1), random.random())
    torch.manual_seed(11)
    random.seed(11)
    assert drawn == (torch.rand(1), random.random())
    assert all(torch.equal(model.state_dict()[name], value) for name, value in state.items())
    assert all(map(torch.equal, [each.grad for each in model.parameters()], gradients))
    now = [each["momentum_buffer"] for each in optimizer.state.values()]
    assert all(map(torch.equal, now, momenta))
    assert before is None or loader.state_dict() == before
    assert any("batch norm" in note for note in plan.notes)


def test_a_plan_is_carried_out():
    model, loader = model_of(), LOADERS["in-process"]()
    optimizer = sgd(model)
    plan = train.plan(model, loader, optimizer, noise=1e6, most=64, **QUICK)
    chosen = plan.chosen
    assert chosen.samples <= 64
    assert chosen.micro_batch * chosen.accumulation == chosen.samples
    assert plan.today is None or plan.today.micro_batch == 16
    step = plan.step(clip=1.0)
    sizes = []
    for batch in loader:
        sizes.append(len(batch[0]))
        with step:
            loss = loss_of(model, batch)
        step.backward(loss, samples=len(batch[0]))
    step.finish()
    assert set(sizes) == {chosen.micro_batch}
    assert step.steps == 256 / chosen.samples
    assert step.precision.kind == chosen.precision
    text = str(plan)
    for part in ("chosen", "binds", "noise scale", "goodput", chosen.precision):
        assert part in text
    assert json.loads(json.dumps(plan.to_json()))["chosen"]["samples"] == chosen.samples


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
def test_the_cost_of_an_optimizer_is_that_of_its_kind(kind):
    model = model_of()
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
    cost = optimizer_cost(model, optimizer)
    loss_of(model, next(batches([8]))).backward()
    optimizer.step()
    states = [each for state in optimizer.state.values() for each in state.values()]
    kept = sum(each.nbytes for each in states if isinstance(each, torch.Tensor))
    assert cost.state == pytest.approx(kept, rel=0.01)
    assert cost.seconds > 0


def test_an_optimizer_of_which_no_other_can_be_made_is_noted():
    class Odd(torch.optim.SGD):
        def __init__(self, model):
            super().__init__(model.parameters(), 0.1)

    model = model_of()
    plan = train.plan(model, LOADERS["stock"](), Odd(model), noise=64.0, **QUICK)
    assert any("optimizer's cost is not known" in note for note in plan.notes)


def test_a_batch_that_cannot_be_set_is_said():
    model = model_of()
    loader = torch.utils.data.DataLoader(Samples(), 2)
    plan = train.plan(model, loader, sgd(model), noise=1e6, reference=16, **QUICK)
    if plan.chosen.micro_batch == 2:
        pytest.skip("the loader's own batch is the fastest here")
    with pytest.raises(PipelineError, match=f"batch_size={plan.chosen.micro_batch}"):
        plan.step()


def deep_model():
    """Its activations are what takes memory."""
    torch.manual_seed(2)
    layers = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(16)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(8, 4))


def test_memory_is_kept_by_recomputing():
    model, loader = deep_model(), drapps.torch.DataLoader(Samples(), 128)
    optimizer = sgd(model)
    kept = {"noise": UNKNOWN, "precision": "fp32", "reference": 128, **QUICK}
    roomy = train.plan(model, loader, optimizer, memory="1GiB", **kept)
    fixed = roomy.chosen.peak_bytes - _peak(model, roomy.chosen.micro_batch)
    limit = int(fixed + 0.6 * _peak(model, 128))
    tight = train.plan(model, loader, optimizer, memory=limit, **kept)
    assert tight.chosen.peak_bytes <= limit
    plain = weights(model)
    step = tight.step()
    assert torch.equal(weights(model), plain)
    assert _peak(model, tight.chosen.micro_batch) + fixed <= limit
    assert step.batch.accumulation == tight.chosen.accumulation
    with pytest.raises(PipelineError, match="no step fits into memory=1000 bytes"):
        train.plan(model, loader, optimizer, memory=1000, **kept)


def _peak(model, samples):
    batch = next(batches([samples]))
    with train.checkpointing.steps.undisturbed(model):
        return train.checkpointing.profiling.measured_peak(
            lambda: loss_of(model, batch).backward(), torch.device("cpu")
        )


def test_a_model_with_batch_norm_never_gets_a_single_sample():
    model = torch.nn.Sequential(*model_of(), torch.nn.BatchNorm1d(4))
    for size in (2, 4):
        loader = drapps.torch.DataLoader(Samples(32), size)
        plan = train.plan(model, loader, sgd(model), memory="1GiB", most=2 * size, **QUICK)
        assert all(each.micro_batch >= 2 for each in (plan.chosen, *plan.alternatives))


def test_what_cannot_be_carried_out_changes_nothing():
    model, loader = model_of(), LOADERS["in-process"]()
    plan = train.plan(model, loader, sgd(model), noise=1e6, most=256, **QUICK)
    with pytest.raises(PipelineError, match="scaling='linear'"):
        plan.step(scaling="linear")
    assert loader.batch_size == 16


def test_it_is_made_again_where_something_has_moved_by_two():
    model = model_of()
    plan = train.plan(model, LOADERS["stock"](), sgd(model), noise=64.0, rate=1e5, **QUICK)
    assert plan.replanned(noise=100.0, rate=6e4) is plan
    assert plan.replanned(noise=math.nan) is plan
    other = plan.replanned(noise=1e9, rate=10.0)
    assert (other.noise, other.loader_rate, other.binds) == (1e9, 10.0, "loader")
    assert other.chosen.samples_per_second <= 10.001


def test_a_precision_that_comes_to_something_else_is_left_out():
    class Exact(torch.nn.Module):
        """What rounding to bf16 leaves out is what it is all about."""

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 4)

        def forward(self, inputs):
            with torch.autocast("cpu", enabled=False):
                exact = self.layer(inputs)
            return exact + 1e3 * (self.layer(inputs).float() - exact)

    given, kinds = list(batches([16] * 2)), ("fp32", "bf16")
    precision = train.checked_precision(Exact(), given, loss_of, kinds)
    assert precision.kind == "fp32"
    assert "bf16" not in precision.why
    assert "bf16" in train.checked_precision(model_of(), given, loss_of, kinds).why
    loader = torch.utils.data.DataLoader(Samples(), 16)
    model = Exact()
    plan = train.plan(model, loader, sgd(model), noise=64.0, precision=kinds, **QUICK)
    assert plan.chosen.precision == "fp32"
    assert any("bf16 is left out" in note for note in plan.notes)


def test_the_noise_is_measured_at_the_parameters_as_they_are():
    model = model_of()
    plan = train.plan(model, LOADERS["stock"](), sgd(model), **QUICK)
    assert plan.noise > 0 or any("noise" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": "speed"}, "target='speed'"),
        ({"seconds": 0}, "seconds=0"),
        ({"memory": "much"}, "memory='much'"),
        ({"most": 3}, "most=3"),
        ({"precision": "fp8"}, "precision='fp8'"),
        ({"rate": -1.0}, "rate=-1.0"),
        ({"noise": 0.0}, "noise=0.0"),
        ({"loss": lambda model, batch: model(batch[0])}, "one number"),
    ],
)
def test_wrong_arguments_are_named(change, says):
    model = model_of()
    with pytest.raises(PipelineError, match=says):
        train.plan(model, LOADERS["stock"](), sgd(model), **{**QUICK, **change})


def test_what_cannot_be_measured_is_said():
    model = model_of()
    with pytest.raises(PipelineError, match="gives no loss by itself"):
        train.plan(model, torch.utils.data.DataLoader(torch.randn(32, 8), 8), sgd(model))
    with pytest.raises(PipelineError, match="is an iterator"):
        train.plan(model, iter([1]), sgd(model), **QUICK)
    with pytest.raises(PipelineError, match="gave no batch"):
        train.plan(model, [], sgd(model), **QUICK)


def test_all_ranks_come_to_the_same(tmp_path):
    script = Path(__file__).with_name("plan_on_a_rank.py")
    answers = [
        json.loads(each.splitlines()[-1]) for each in run_ranks([script], tmp_path, modules=TORCH)
    ]
    assert answers[0] == answers[1]
    assert answers[0]["samples"] % 2 == 0
