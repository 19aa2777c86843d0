"""Recomputed activations: gradients are bit-equal, and peaks are as predicted."""

import copy

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

checkpoint = pytest.importorskip("drapps.train.checkpointing").checkpoint
blocks_of = pytest.importorskip("drapps.train.checkpointing.blocks").blocks_of
install = pytest.importorskip("drapps.train.checkpointing.installing").install

from python.tests.train.checkpointed import (  # noqa: E402
    MODELS,
    Stack,
    assert_as_predicted,
    assert_bit_equal,
    gpt,
    stack,
    state_after,
)

pytestmark = pytest.mark.usefixtures("one_thread")


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


@pytest.mark.full  # as the convolutions above, and larger
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
            output = layer(x)
            with torch.no_grad():
                x.mul_(0.5)
            x = output
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
