"""The networks: a small one for a CPU, a millisecond or two a picture; a ResNet-18 for a GPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def make(classes: int, device: torch.device) -> nn.Module:
    """Returns the network for a device, on it, in the memory layout that its convolutions like."""
    network = resnet18(classes) if device.type == "cuda" else small(classes)
    return network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def _convolution(inputs: int, outputs: int, size: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


def small(classes: int) -> nn.Module:
    """Four convolutions; the first one makes one place of 8 by 8 pixels."""
    return nn.Sequential(
        _convolution(3, 16, 8, 8),
        _convolution(16, 32, 3, 1),
        _convolution(32, 64, 3, 2),
        _convolution(64, 128, 3, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, classes),
    )


class _Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            _convolution(inputs, outputs, 3, stride),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.skip = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.main(x) + self.skip(x))


def resnet18(classes: int) -> nn.Module:
    """ResNet-18 (He et al., Deep Residual Learning for Image Recognition, 2015)."""
    stages: list[nn.Module] = []
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        stages += [_Residual(inputs, outputs, stride), _Residual(outputs, outputs, 1)]
        inputs = outputs
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes)]
    return nn.Sequential(_convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *stages, *head)
