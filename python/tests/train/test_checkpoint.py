"""Recomputed activations: gradients are bit-equal, peaks are as predicted, models stay whole."""

import contextlib
import copy
import io
import pickle

import pytest

from drapps import PipelineError

torch = pytest.importorskip("torch")
nn = torch.nn

checkpointing = pytest.importorskip("drapps.train.checkpointing")
checkpoint = checkpointing.checkpoint
blocks_of = pytest.importorskip("drapps.train.checkpointing.blocks").blocks_of
install = pytest.importorskip("drapps.train.checkpointing.installing").install
profiling = pytest.importorskip("drapps.train.checkpointing.profiling")

from python.tests.train.checkpointed import (  # noqa: E402
    MODELS,
    Stack,
    assert_as_predicted,
    assert_bit_equal,
    gpt,
    perceptron,
    stack,
    state_after,
)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_and_buffers_are_those_of_the_plain_step(name, autocast):
    torch.manual_seed(0)
    model, example = MODELS[name]()
    model(example)  # lazy modules
    other = copy.deepcopy(model)
    plain = state_after(model, example, autocast=autocast)

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            return other(example).float().square().mean()

    report = checkpoint(other, step)
    assert_as_predicted(report)
    assert_bit_equal(plain, state_after(other, example, autocast=autocast))
    for share in (0.9, 0.7):
        report.undo()
        other.zero_grad()
        assert other.state_dict().keys() == model.state_dict().keys()
        limit = int(
            report.measured_peak_bytes + share * (report.peak_bytes - report.measured_peak_bytes)
        )
        within = checkpoint(other, step, memory=limit)
        assert within.measured_peak_bytes <= limit
        assert_as_predicted(within)
        within.undo()


def test_a_resnet_of_torchvision(torchvision):
    torch.manual_seed(0)
    model = torchvision.models.resnet50(num_classes=4)
    other = copy.deepcopy(model)
    example = torch.randn(2, 3, 32, 32)
    plain = state_after(model, example, steps=1)
    report = checkpoint(other, example)
    assert_as_predicted(report)
    assert len(report.blocks) == 16
    assert_bit_equal(plain, state_after(other, example, steps=1))


@pytest.mark.parametrize("autocast", [False, True])
def test_a_gpt_of_hugging_face_with_tied_weights(autocast):
    model, example = gpt()
    assert model.lm_head.weight is model.transformer.wte.weight
    other = copy.deepcopy(model)
    plain = state_after(model, example, autocast=autocast)
    report = checkpoint(other, example)
    assert_as_predicted(report)
    assert_bit_equal(plain, state_after(other, example, autocast=autocast))


def test_a_cache_of_keys_and_values_keeps_blocks_as_they_are():
    model, example = gpt(use_cache=True)
    plain = state_after(copy.deepcopy(model), example)
    report = checkpoint(model, example)
    assert "none of its blocks" in report.reason
    assert all("use_cache" in each.reason for each in report.blocks)
    assert_bit_equal(plain, state_after(model, example))


def test_a_cache_that_comes_later_is_not_filled_twice():
    model, example = gpt()
    plain = copy.deepcopy(model)
    assert not checkpoint(model, example).reason
    for each in (plain, model):
        each.config.use_cache = True
    assert_bit_equal(state_after(plain, example), state_after(model, example))
    model.eval()
    start = example["input_ids"][:1, :4]
    wanted = plain.eval().generate(start, max_new_tokens=4, do_sample=False)
    assert torch.equal(model.generate(start, max_new_tokens=4, do_sample=False), wanted)


def test_frozen_parameters():
    model, example = stack()
    for frozen in (model.stem, *model.layers[:2]):
        frozen.requires_grad_(False)
    other = copy.deepcopy(model)
    plain = state_after(model, example)
    assert_as_predicted(checkpoint(other, example))
    assert_bit_equal(plain, state_after(other, example))


def test_shared_weights_within_and_between_blocks():
    model, example = stack()
    model.layers[3].inner.weight = model.layers[1].inner.weight
    model.layers[4] = model.layers[0]  # runs twice
    other = copy.deepcopy(model)
    plain = state_after(model, example)
    report = checkpoint(other, example)
    assert_as_predicted(report)
    assert [each.reason for each in report.blocks if each.reason] == ["it runs 2 times in a step"]
    assert_bit_equal(plain, state_after(other, example))


def test_a_sequence_that_runs_one_module_twice():
    middle = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
    again = nn.Linear(16, 16)
    model = nn.Sequential(
        nn.Linear(16, 16), again, nn.Tanh(), middle, again, nn.Tanh(), nn.Linear(16, 2)
    )
    example = torch.randn(8, 16)
    plain = state_after(copy.deepcopy(model), example)
    for measured in (None, example):
        report = checkpoint(model, measured, segments=2)
        model.zero_grad()
        assert_bit_equal(plain, state_after(model, example))
        report.undo()


def test_in_place_operations_on_inputs_are_not_begun_with():
    layers = []
    for _ in range(4):
        layers += [nn.Linear(32, 32), nn.SiLU(inplace=True), nn.Hardswish(inplace=True)]
    model = nn.Sequential(*layers)
    example = torch.randn(64, 32)
    plain = state_after(copy.deepcopy(model), example)
    report = checkpoint(model, example, segments=12)
    model.zero_grad()
    assert_bit_equal(plain, state_after(model, example))
    seen = set()
    for each in report.blocks:
        if each.segment is not None and each.segment not in seen:
            assert "Linear" in type(model[int(each.name)]).__name__
            seen.add(each.segment)


class Doubling(nn.Linear):
    """Does not save what it is given."""

    def forward(self, x):
        return super().forward(2 * x).tanh() * 3


class ChangesLater(Stack):
    """What a block was given is changed when the block has run."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Doubling(32, 32) for _ in range(4))

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            made = layer(x)
            with torch.no_grad():
                x.mul_(0.5)
            x = made
        return self.head(x)


def test_a_changed_input_is_an_error_where_nothing_was_measured():
    model = ChangesLater()
    report = checkpoint(model)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        model(torch.randn(4, 8)).sum().backward()
    report.undo()
    model(torch.randn(4, 8)).sum().backward()


def test_blocks_whose_input_is_changed_are_kept_where_it_was_measured():
    report = checkpoint(ChangesLater(), torch.randn(4, 8), segments=2)
    assert report.reason
    assert any("changed in place" in each.reason for each in report.blocks)


class Counting(nn.Module):
    """Its buffer is a part of what it computes."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)
        self.register_buffer("count", torch.ones(()))

    def forward(self, x):
        self.count += 1
        return self.inner(x).tanh() * self.count


def test_buffers_are_what_they_were_when_a_block_runs_again():
    model = nn.Sequential(*(Counting() for _ in range(5)))
    example = torch.randn(32, 16)
    plain = state_after(copy.deepcopy(model), example)
    checkpoint(model, example)
    assert_bit_equal(plain, state_after(model, example))
    loss = model(example).sum()
    loss.backward(retain_graph=True)
    first = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    loss.backward()
    assert model[0].count == 4
    counted = [each.grad for each in model.parameters()]
    before = [each for pair in plain[0].items() for each in pair[1:]]
    assert all(
        torch.equal(one, two + three)
        for one, two, three in zip(first, counted, before, strict=True)
    )


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
        made = model(example)
    assert not made.requires_grad


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


def test_a_model_is_not_checkpointed_twice():
    model, example = stack()
    first = checkpoint(model, example)
    assert "undo()" in checkpoint(model, example).reason
    first.undo()
    assert not checkpoint(model, example).reason


def test_compiling_afterwards():
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.GELU()) for _ in range(4))
    )
    example = torch.randn(8, 16)
    for make in (lambda: model, lambda: Stack(3, 16)):
        plain = make()
        example = torch.randn(8, 8) if isinstance(plain, Stack) else example
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


@pytest.mark.parametrize("autocast", [False, True])
def test_activations_on_the_host(autocast):
    model, example = stack()
    other = copy.deepcopy(model)
    plain = state_after(model, example, autocast=autocast)
    blocks = [blocks_of(other)[number] for number in (0, 2, 3)]
    undo = install([((each,), "offload") for each in blocks])
    assert_bit_equal(plain, state_after(other, example, autocast=autocast))
    assert [id(each.module) for each in blocks] == [
        id(each) for each in other.layers if "forward" in each.__dict__
    ]
    undo()
    assert not any("forward" in each.__dict__ for each in other.modules())


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
