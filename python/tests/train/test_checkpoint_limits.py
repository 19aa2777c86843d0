"""Recomputed activations: limits of memory, what is reported of them, and what is refused."""

import copy

import pytest

from drapps import PipelineError

torch = pytest.importorskip("torch")
nn = torch.nn

checkpointing = pytest.importorskip("drapps.train.checkpointing")
checkpoint = checkpointing.checkpoint
profiling = pytest.importorskip("drapps.train.checkpointing.profiling")

from python.tests.train.checkpointed import (  # noqa: E402
    MODELS,
    assert_bit_equal,
    gpt,
    stack,
    state_after,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_without_an_example_segments_are_equally_long():
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(9)))
    report = checkpoint(model, segments="sqrt")
    assert [each.segment for each in report.blocks] == [1, 1, 1, 2, 2, 2, None, None, None]
    assert report.peak_bytes is None
    example = torch.randn(4, 8)
    got = state_after(model, example)
    report.undo()
    model.zero_grad()
    assert_bit_equal(state_after(model, example), got)


def test_a_limit_that_is_not_reached_changes_nothing():
    model, example = stack()
    report = checkpoint(model, example, memory="1GiB")
    assert "within the limit" in report.reason
    assert not any("forward" in each.__dict__ for each in model.modules())


def test_a_limit_that_cannot_be_reached_names_what_can():
    model, example = stack()
    with pytest.raises(checkpointing.MemoryLimitError, match="smallest peak") as caught:
        checkpoint(model, example, memory=1000)
    smallest = caught.value.smallest_bytes
    assert str(smallest) in str(caught.value)
    assert isinstance(caught.value, PipelineError)
    assert not any("forward" in each.__dict__ for each in model.modules())
    assert checkpoint(model, example, memory=smallest).measured_peak_bytes <= smallest


@pytest.mark.parametrize(
    "model", [nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8)), nn.ModuleList([nn.Linear(8, 8)])]
)
def test_a_model_without_blocks_is_told_so(model):
    report = checkpoint(model, torch.randn(4, 8), memory=10)
    assert "two blocks" in report.reason
    assert "two blocks" in str(report)


def test_the_table():
    model, example = stack()
    report = checkpoint(model, example)
    lines = str(report).splitlines()
    assert lines[0].split() == ["block", "action", "activations", "forward"]
    assert lines[1].startswith("layers.0  recompute 1")
    assert lines[-2].startswith("peak ")
    assert lines[-1].startswith("step ")
    assert report["blocks"][0]["name"] == "layers.0"
    assert report.to_json()["peak_bytes"] == report.peak_bytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 10, "segments": 2, "example": torch.ones(1)}, "not both"),
        ({"memory": 10}, "give it an example"),
        ({"memory": "much", "example": torch.ones(1)}, "a size such as"),
        ({"segments": 0}, "whole number"),
        ({"segments": "cube"}, "whole number"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(PipelineError, match=message):
        checkpoint(stack()[0], **options)


def test_a_step_that_trains_is_refused():
    model, example = stack()
    optimizer = torch.optim.SGD(model.parameters())

    def step():
        model(example).sum().backward()
        optimizer.step()

    with pytest.raises(PipelineError, match="without the optimizer's"):
        checkpoint(model, step)
    assert not any("forward" in each.__dict__ for each in model.modules())


@pytest.mark.parametrize("share", [0.2, 0.6])
@pytest.mark.parametrize("name", [*MODELS, "gpt"])
def test_a_plain_step_that_does_not_fit(name, share, monkeypatch):
    torch.manual_seed(0)
    model, example = gpt() if name == "gpt" else MODELS[name]()
    (model(**example) if name == "gpt" else model(example))
    other = copy.deepcopy(model)
    fits = checkpoint(model, example)
    fits.undo()
    low, high = fits.measured_peak_bytes, fits.peak_bytes

    def no_room(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(profiling, "_plain_profile", no_room)
    limit = int(low + share * (high - low))
    report = checkpoint(other, example, memory=limit)
    assert not report.plain_step_fits
    assert report.measured_peak_bytes <= limit
    assert abs(report.predicted_peak_bytes / report.measured_peak_bytes - 1) <= 0.1
    assert abs(report.peak_bytes / high - 1) <= 0.1
    assert_bit_equal(state_after(model, example), state_after(other, example))


def test_a_step_that_does_not_fit_in_any_way(monkeypatch):
    def no_room(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(profiling, "_fastest", no_room)
    model, example = stack()
    with pytest.raises(PipelineError, match="smaller example"):
        checkpoint(model, example)
    assert not any("forward" in each.__dict__ for each in model.modules())
