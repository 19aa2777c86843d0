"""Rival: DALI's CPU pipeline, whose decoder decodes the rows of the crop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from benchmarks.image_peers.peer import Peer, run


@pipeline_def
def _pipeline(spec: dict[str, Any]) -> tuple[Any, Any]:
    encoded, labels = fn.readers.file(
        file_root=spec["root"], random_shuffle=True, name="reader", prefetch_queue_depth=2
    )
    images = fn.decoders.image_random_crop(
        encoded,
        device="cpu",
        output_type=types.RGB,
        random_area=spec["scale"],
        random_aspect_ratio=spec["ratio"],
        num_attempts=10,
    )
    images = fn.resize(
        images,
        resize_x=spec["crop"],
        resize_y=spec["crop"],
        interp_type=types.INTERP_LINEAR,
        antialias=True,
    )
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * each for each in spec["mean"]],
        std=[255 * each for each in spec["std"]],
        mirror=fn.random.coin_flip(probability=spec["flip"]),
    )
    return images, labels


class DaliPeer(Peer):
    """See `Peer`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self._pipeline = _pipeline(
            spec,
            batch_size=spec["batch"],
            num_threads=spec["workers"],
            device_id=None,
            seed=spec["seed"],
            prefetch_queue_depth=2,
        )
        self._pipeline.build()

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as views of the pipeline's own buffers."""
        while True:
            images, labels = self._pipeline.run()
            yield np.asarray(images.as_tensor()), np.asarray(labels.as_tensor())


if __name__ == "__main__":
    run(DaliPeer)
