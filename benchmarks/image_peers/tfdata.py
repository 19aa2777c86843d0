"""Rival: tf.data, everything AUTOTUNE, decoding no more than the crop's blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from benchmarks.image_peers.peer import Peer, listing, run


class TfDataPeer(Peer):
    """See `Peer`; the variant is `antialias`: true or false."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        files, labels = listing(spec)
        tf.random.set_seed(spec["seed"])
        data = tf.data.Dataset.from_tensor_slices((files, labels))
        data = data.shuffle(len(files)).repeat()
        data = data.map(self._load, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        data = data.batch(spec["batch"], num_parallel_calls=tf.data.AUTOTUNE)
        options = tf.data.Options()
        options.deterministic = False
        self._data = data.prefetch(tf.data.AUTOTUNE).with_options(options)

    def _load(self, file: Any, label: Any) -> tuple[Any, Any]:
        spec = self.spec
        encoded = tf.io.read_file(file)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(encoded),
            tf.zeros([0, 0, 4], tf.float32),
            min_object_covered=0.0,
            aspect_ratio_range=spec["ratio"],
            area_range=spec["scale"],
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
        side = spec["crop"]
        image = tf.image.resize(image, [side, side], antialias=spec["antialias"])
        flip = tf.random.uniform([]) < spec["flip"]
        image = tf.cond(flip, lambda: tf.reverse(image, axis=[1]), lambda: image)
        mean, std = (tf.constant(spec[name], tf.float32) for name in ("mean", "std"))
        return image * (1 / (255 * std)) - mean / std, label

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as TensorFlow's tensors."""
        yield from self._data


if __name__ == "__main__":
    run(TfDataPeer)
