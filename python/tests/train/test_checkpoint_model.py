"""Recomputed activations: models stay whole, when they are copied, saved, evaluated, compiled."""

import contextlib
import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

checkpoint = pytest.importorskip("drapps.train.checkpointing").checkpoint

from python.tests.cells import some_full  # noqa: E402
from python.tests.train.checkpointed import (  # noqa: E402
    Stack,
    assert_bit_equal,
    perceptron,
    stack,
    state_after,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_names_identities_copies_and_pickles():
    model, example = perceptron()
    modules = dict(model.named_modules())
    keys = list(model.state_dict())
    report = checkpoint(model, example)
    assert list(model.state_dict()) == keys
    assert all(modules[name] is each for name, each in model.named_modules())
    plain = state_after(model, example)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.load_state_dict(model.state_dict())
    saved = io.BytesIO()
    torch.save(model, saved)
    saved.seek(0)
    other = torch.load(saved, weights_only=False)
    with torch.no_grad():
        other[0][0].weight.zero_()
    assert not torch.equal(other(example), model(example))
    assert model[0][0].weight.any()
    report.undo()
    report.undo()
    assert not any("forward" in each.__dict__ for each in model.modules())
    assert plain[0].keys() == dict(model.named_parameters()).keys()


@pytest.mark.parametrize("make", [perceptron, stack])
def test_a_copy_recomputes_by_its_own_blocks(make):
    model, example = make()
    checkpoint(model, example)
    other = copy.deepcopy(model)
    for each in other.parameters():
        each.data.mul_(0.5)
    fresh, _ = make()
    fresh.load_state_dict(other.state_dict())
    assert_bit_equal(state_after(fresh, example), state_after(other, example))


def test_measuring_leaves_the_model_as_it_was():
    model, example = perceptron()
    model(example).sum().backward()
    grads = [each.grad for each in model.parameters()]
    values = [each.clone() for each in grads]
    buffers = copy.deepcopy(dict(model.named_buffers()))
    random = torch.get_rng_state()
    with checkpoint(model, example):
        pass
    assert torch.equal(random, torch.get_rng_state())
    for parameter, grad, value in zip(model.parameters(), grads, values, strict=True):
        assert parameter.grad is grad
        assert torch.equal(grad, value)
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, buffers[name])
    assert not any("forward" in each.__dict__ for each in model.modules())


def test_evaluation_runs_plainly():
    model, example = perceptron()
    checkpoint(model, example)
    model.eval()
    with torch.no_grad():
        output = model(example)
    assert not output.requires_grad


def test_a_model_is_not_checkpointed_twice():
    model, example = stack()
    first = checkpoint(model, example)
    assert "undo()" in checkpoint(model, example).reason
    first.undo()
    assert not checkpoint(model, example).reason


def normalized():
    """A sequence of layers with buffers, and an input."""
    layers = (nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.GELU()) for _ in range(4))
    return nn.Sequential(*layers), torch.randn(8, 16)


def small_stack():
    """A small one, and an input."""
    return Stack(3, 16), torch.randn(8, 8)


@pytest.mark.parametrize("make", some_full([normalized, small_stack], small_stack))
def test_compiling_afterwards(make):
    torch.manual_seed(0)
    plain, example = make()
    for each in plain.modules():
        each.p = 0.0
    other = copy.deepcopy(plain)
    assert not checkpoint(other, example).reason
    with disabled_dropout():
        torch.compiler.reset()
        wanted = state_after(torch.compile(plain, backend="aot_eager"), example)
        torch.compiler.reset()
        got = state_after(torch.compile(other, backend="aot_eager", fullgraph=True), example)
    assert_bit_equal(wanted[:2], got[:2])


@contextlib.contextmanager
def disabled_dropout():
    dropout = nn.functional.dropout
    nn.functional.dropout = lambda x, *_: x
    try:
        yield
    finally:
        nn.functional.dropout = dropout


def test_a_compiled_model_is_left_alone():
    model, example = stack()
    compiled = torch.compile(model, backend="eager")
    assert "compile it then" in checkpoint(compiled, example).reason
    assert not any("forward" in each.__dict__ for each in model.modules())
