"""Models whose activations are recomputed, and what of a step is compared."""

import pytest
import torch
from torch import nn


def perceptron():
    """Linear layers with batch norm and dropout, and an input."""
    layers = [
        nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True), nn.Dropout(0.2))
        for _ in range(6)
    ]
    return nn.Sequential(*layers, nn.Linear(64, 5)), torch.randn(32, 64)


def convolutions():
    """The same of convolutions."""
    layers = [nn.Conv2d(3, 8, 3, padding=1)]
    for _ in range(4):
        layers += [nn.BatchNorm2d(8), nn.SiLU(inplace=True), nn.Dropout2d(0.1)]
        layers += [nn.Conv2d(8, 8, 3, padding=1)]
    return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(4)), torch.randn(4, 3, 12, 12)


class Residual(nn.Module):
    """A block of a transformer, without attention."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x, scale=1.0):
        """Adds to its input."""
        change = nn.functional.dropout(self.outer(self.inner(self.norm(x)).relu()), 0.1)
        return x + scale * change


class Stack(nn.Module):
    """Blocks in a list, as most transformers have them."""

    def __init__(self, depth=5, width=32):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.layers = nn.ModuleList(Residual(width) for _ in range(depth))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        """Through all blocks."""
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x, scale=torch.ones(()))
        return self.head(x)


def stack():
    """Blocks in a list, and an input."""
    return Stack(), torch.randn(16, 8)


def state_after(model, example, steps=2, autocast=False):
    """Gradients and buffers after some steps, and the random state behind them."""
    torch.manual_seed(7)
    for _ in range(steps):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            output = model(**example) if isinstance(example, dict) else model(example)
            loss = output.loss if hasattr(output, "loss") else output.float().square().mean()
        loss.backward()
    grads = {name: each.grad for name, each in model.named_parameters()}
    buffers = {name: each.clone() for name, each in model.named_buffers()}
    return grads, buffers, {"random": torch.get_rng_state()}


def assert_bit_equal(plain, other):
    """Of what `state_after` gave."""
    for before, after in zip(plain, other, strict=True):
        assert before.keys() == after.keys()
        for name, value in before.items():
            if value is None:
                assert after[name] is None, name
            else:
                assert torch.equal(value, after[name]), name


def assert_as_predicted(report):
    """It takes less memory, and as much as was said."""
    assert not report.reason
    assert report.measured_peak_bytes < report.peak_bytes
    assert abs(report.predicted_peak_bytes / report.measured_peak_bytes - 1) <= 0.1


def gpt(**changes):
    """A small one with tied weights, and an input."""
    transformers = pytest.importorskip("transformers")
    settings = {"n_layer": 4, "n_embd": 32, "n_head": 2, "vocab_size": 50, "n_positions": 16}
    settings |= {"bos_token_id": 0, "eos_token_id": 0, "use_cache": False}
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings | changes)).train()
    tokens = torch.randint(0, 50, (2, 16))
    return model, {"input_ids": tokens, "labels": tokens}


MODELS = {"perceptron": perceptron, "convolutions": convolutions, "stack": stack}
