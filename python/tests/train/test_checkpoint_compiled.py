"""Models that are compiled before a memory limit is asked for."""

import copy

import pytest

torch = pytest.importorskip("torch")

from drapps import PipelineError  # noqa: E402
from drapps.train import MemoryLimitError, checkpoint  # noqa: E402
from drapps.train.checkpointing import compiled  # noqa: E402
from python.tests.train.checkpointed import state_after  # noqa: E402

nn = torch.nn
PARTITIONED = "aot_eager_decomp_partition"


@pytest.fixture(autouse=True)
def alone():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.compiler.reset()
    yield
    torch.compiler.reset()
    torch.set_num_threads(before)


class Chain(nn.Module):
    """Layers whose activations are much larger than they are."""

    def __init__(self, depth=3, width=64):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Tanh()) for _ in range(depth)
        )

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def chain():
    """One of them, and an input."""
    torch.manual_seed(0)
    return Chain(), torch.randn(512, 64)


def compiled_by_function(model, backend):
    return torch.compile(model, backend=backend)


def compiled_in_place(model, backend):
    model.compile(backend=backend)
    return model


def assert_close(plain, other):
    """Gradients, whatever compiling has made of the names."""
    gradients = {name.replace("_orig_mod.", ""): grad for name, grad in other[0].items()}
    assert gradients.keys() == plain[0].keys()
    for name, value in plain[0].items():
        assert torch.allclose(gradients[name], value, atol=1e-6), name


def assert_within_half(make, backend):
    """Half of what a budget can save is kept, and taken back."""
    model, example = chain()
    reference = copy.deepcopy(model)
    ready = make(model, backend)
    with pytest.raises(MemoryLimitError, match="activation_memory_budget") as caught:
        checkpoint(ready, example, memory=1)
    smallest = caught.value.smallest_bytes
    plain = checkpoint(ready, example, memory="1GiB")
    assert "within the limit" in plain.reason
    assert smallest < plain.peak_bytes
    limit = (smallest + plain.peak_bytes) // 2
    report = checkpoint(ready, example, memory=limit)
    assert not report.reason
    assert 0 <= report.budget < 1
    assert report.measured_peak_bytes <= limit < report.peak_bytes
    assert report.measured_step_seconds > 0
    assert f"budget {report.budget:g}" in str(report)
    assert "undo()" in checkpoint(ready, example, memory=limit).reason
    ready.zero_grad()
    assert_close(state_after(reference, example), state_after(ready, example))
    report.undo()
    again = checkpoint(ready, example, memory="1GiB")
    assert again.peak_bytes == pytest.approx(plain.peak_bytes, rel=0.05)


@pytest.mark.parametrize(
    "make", [compiled_by_function, pytest.param(compiled_in_place, marks=pytest.mark.full)]
)
def test_the_largest_budget_within_the_limit(make):
    assert_within_half(make, PARTITIONED)


@pytest.mark.full
def test_the_largest_budget_within_the_limit_of_inductor():
    assert_within_half(compiled_by_function, "inductor")


@pytest.mark.full
def test_blocks_that_are_compiled_one_by_one():
    model, example = chain()
    for number, layer in enumerate(model.layers):
        model.layers[number] = torch.compile(layer, backend=PARTITIONED)
    plain = checkpoint(model, example, memory="1GiB")
    with pytest.raises(MemoryLimitError) as caught:
        checkpoint(model, example, memory=1)
    report = checkpoint(model, example, memory=caught.value.smallest_bytes)
    assert report.measured_peak_bytes < plain.peak_bytes
    report.undo()
    assert not any(isinstance(each.forward, compiled.Budgeted) for each in model.layers)


def test_a_backend_that_knows_no_budget():
    model, example = chain()
    ready = torch.compile(model, backend="eager")
    plain = state_after(copy.deepcopy(model), example)
    report = checkpoint(ready, example, memory=1)
    assert "makes no difference" in report.reason
    assert "unchanged" in str(report)
    assert_close(plain, state_after(ready, example))


def test_a_torch_that_has_no_budget(monkeypatch):
    monkeypatch.setattr(compiled, "config", object())
    model, example = chain()
    report = checkpoint(torch.compile(model, backend="eager"), example, memory=1)
    assert "no setting for it" in report.reason


def test_segments_are_for_models_that_are_not_compiled():
    model, example = chain()
    ready = torch.compile(model, backend="eager")
    assert "give memory=" in checkpoint(ready, example, segments=2).reason
    with pytest.raises(PipelineError, match="give it an example"):
        checkpoint(ready, memory=1)


@pytest.mark.full  # measuring one that is not compiled does so by the same code
def test_measuring_leaves_gradients_and_random_numbers_alone():
    model, example = chain()
    ready = torch.compile(model, backend=PARTITIONED)
    model(example).sum().backward()
    grads = [each.grad.clone() for each in model.parameters()]
    random = torch.get_rng_state()
    with pytest.raises(MemoryLimitError):
        checkpoint(ready, example, memory=1)
    assert torch.equal(random, torch.get_rng_state())
    assert all(
        torch.equal(each.grad, grad) for each, grad in zip(model.parameters(), grads, strict=True)
    )
    assert not compiled.is_budgeted(ready)
