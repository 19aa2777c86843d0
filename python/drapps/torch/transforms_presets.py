"""What torchvision's ``Weights.transforms()`` give: whole chains of the first API in one object."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from drapps.torch import transforms_v1 as v1
from drapps.torch.chain import Chain, Form, Recogniser
from drapps.torch.recognise import numbers


def image_classification(preset: Any, chain: Chain) -> None:
    """ImageClassification."""
    _resize(preset, chain)
    _add(_first_api().CenterCrop(preset.crop_size), chain)
    _make_numbers(preset, chain)


def semantic_segmentation(preset: Any, chain: Chain) -> None:
    """SemanticSegmentation, which may leave the size as it is."""
    if isinstance(preset.resize_size, list):
        _resize(preset, chain)
    _make_numbers(preset, chain)


def _resize(preset: Any, chain: Chain) -> None:
    size, mode = preset.resize_size, preset.interpolation
    _add(_first_api().Resize(size, mode, antialias=preset.antialias), chain)


def _make_numbers(preset: Any, chain: Chain) -> None:
    to_tensor, *rest = _numbers(tuple(numbers(preset.mean)), tuple(numbers(preset.std)))
    if chain.form is Form.PICTURE:
        _add(to_tensor, chain)
    for transform in rest:
        _add(transform, chain)


@functools.lru_cache(maxsize=16)  # the same objects again, whose values need no second comparison
def _numbers(mean: tuple[float, ...], std: tuple[float, ...]) -> tuple[Any, ...]:
    api = _first_api()
    to_float = api.ConvertImageDtype(torch.float32)
    return api.PILToTensor(), to_float, api.Normalize(list(mean), list(std))


def _first_api() -> Any:
    return sys.modules["torchvision.transforms.transforms"]


def _add(transform: Any, chain: Chain) -> None:
    """A transform of the first API, which calls the same function as the preset."""
    v1.TABLE[f"{_first_api().__name__}.{type(transform).__name__}"](transform, chain)


TABLE: dict[str, Recogniser] = {
    "torchvision.transforms._presets." + name: v1.checked(recogniser)
    for name, recogniser in {
        "ImageClassification": image_classification,
        "SemanticSegmentation": semantic_segmentation,
    }.items()
}
