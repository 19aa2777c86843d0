"""DRAPPS for TensorFlow: loaders in ``tf.data`` and Keras, and ``tf.data`` pipelines made native.

    pipeline = drapps.image_folder("photos").random_resized_crop(224).to("float32", "nhwc")
    loader = pipeline.shuffle().batch(64)
    for batch in drapps.tensorflow.dataset(loader):
        train(batch["image"], batch["label"])

`dataset` gives a loader's batches to ``tf.data``, `PyDataset` to Keras by batch number, and `lift`
runs a ``tf.data`` pipeline of the user's natively where its bytes come out the same.
"""

from __future__ import annotations

try:
    import tensorflow  # noqa: F401
except ImportError as error:
    raise ImportError("drapps.tensorflow needs TensorFlow: pip install tensorflow") from error

from drapps.keras import PyDataset
from drapps.tensorflow.lifting import Lifted, lift
from drapps.tensorflow.report import LiftReport
from drapps.tensorflow.source import dataset

__all__ = ["LiftReport", "Lifted", "PyDataset", "dataset", "lift"]
