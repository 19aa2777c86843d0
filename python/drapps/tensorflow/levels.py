"""What a pipeline makes of each byte, read off a picture that holds all of them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow.picture import CHANNELS, Picture, Rule
from drapps.tensorflow.report import NotLifted
from drapps.tensorflow.stages import Stages


def levels_of(
    stages: Stages, picture: Picture, place: int, rules: Sequence[Rule]
) -> np.ndarray[Any, Any]:
    """What becomes of each byte in each channel: float32 of (256, 3).

    Args:
        stages: of the user's pipeline.
        picture: what it makes of a file.
        place: of that among the parts of an element.
        rules: by which height and width are cropped.

    Raises:
        NotLifted: the same byte becomes several numbers.
    """
    height, width = (rule.size for rule in rules)
    bytes_ = np.arange(height * width).reshape(height, width)
    levels = np.full((256, CHANNELS), np.nan, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, 256, height * width):
            shown = ((bytes_ + first) % 256).astype(np.uint8)
            file = f"{folder}/{first}.png"
            around = [(rule.smallest - rule.size, 0) for rule in rules]
            pixels = np.repeat(np.pad(shown, around)[:, :, None], CHANNELS, 2)
            tf.io.write_file(file, tf.io.encode_png(pixels))
            output = np.asarray(_first(stages, file)[place]).astype(np.float32)
            for axis, window in enumerate(picture.windows):
                output = np.flip(output, axis) if window.mirrored else output
            flat = output.reshape(-1, CHANNELS)
            levels[shown.reshape(-1)] = flat
            if levels[shown.reshape(-1)].tobytes() != flat.tobytes():
                raise NotLifted("what becomes of a byte depends on where it stands")
    return levels


def _first(stages: Stages, file: str) -> list[Any]:
    try:
        [sample] = stages.samples(1, file)
    except tf.errors.OpError as error:
        text = error.message.partition("\n")[0]
        raise NotLifted(f"a picture of noise does not go through: {text}") from None
    return list(sample)
