"""The models: two small ones for the stand-ins, and the two whose memory is measured."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

VOCABULARY = 256  # bytes


def convolutional() -> nn.Module:
    """Three convolutions with batch norm, for pictures of 28 by 28."""

    def block(given: int, maps: int, *more: nn.Module) -> nn.Sequential:
        layers = [nn.Conv2d(given, maps, 3, padding=1, bias=False), nn.BatchNorm2d(maps), nn.ReLU()]
        return nn.Sequential(*layers, *more)

    return nn.Sequential(
        block(1, 16, nn.MaxPool2d(2)),
        block(16, 32, nn.MaxPool2d(2)),
        block(32, 64, nn.AdaptiveAvgPool2d(2)),
        nn.Flatten(),
        nn.Linear(64 * 4, 10),
    )


class Block(nn.Module):
    """A block of a transformer, with the norms in front."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention, then the feed-forward part."""
        rows, length, width = x.shape
        parts = self.attend(self.before(x)).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(seen.transpose(1, 2).reshape(rows, length, width))
        return x + self.feed(self.between(x))


class Transformer(nn.Module):
    """A causal language model of bytes."""

    def __init__(self, context: int, width: int = 96, layers: int = 3, heads: int = 4) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        for each in (self.tokens, self.places):
            nn.init.normal_(each.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of each next byte."""
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def resnet50() -> nn.Module:
    """Torchvision's, with random weights."""
    from torchvision.models import resnet50 as build

    return build(weights=None)


def gpt2_small() -> Any:
    """Transformers' GPT-2 of its default configuration, with random weights and no cache."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(use_cache=False))
