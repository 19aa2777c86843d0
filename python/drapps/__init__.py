"""DRAPPS feeds neural-network training: files in, augmented batches out, nothing to tune.

    import drapps

    loader = drapps.image_folder("photos").random_resized_crop(224).flip().shuffle().batch(256)
    for batch in loader.torch():
        train(batch["image"], batch["label"])

``drapps.torch.DataLoader`` takes the place of ``torch.utils.data.DataLoader``; ``drapps.jax``,
``drapps.tensorflow`` and ``drapps.keras`` feed those; ``drapps.hf`` reads Hugging Face datasets.
Importing this package loads no framework and starts nothing; every name below is loaded at first
use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drapps.analysis.live import analyze
    from drapps.batch import Batch
    from drapps.bucket_batch_sampler import BucketBatchSampler
    from drapps.corpus.pipeline import mixture, text
    from drapps.errors import (
        DataNotFoundError,
        MonitorError,
        PipelineError,
        SampleError,
        WorkerDiedError,
        WorkerStartError,
    )
    from drapps.forms import transcode
    from drapps.item_cache.cached import cached
    from drapps.loader import Loader, LoaderIterator
    from drapps.pipeline import Pipeline, arrays, image_bytes, image_folder, images
    from drapps.shards.packed import litdata, mds
    from drapps.shards.webdataset import webdataset
    from drapps.simulation.calibration.live import calibrate
    from drapps.storage import emulate
    from drapps.token_shards.pipeline import tokens
    from drapps.tokenizers.tokenise import Tokenise
    from drapps.tokenizers.tokenizer import Tokenizer, tokenizer
    from drapps.watching.wrapped import watch

__version__ = "0.1.0"

_HOMES = {
    "Batch": "drapps.batch",
    "BucketBatchSampler": "drapps.bucket_batch_sampler",
    "DataNotFoundError": "drapps.errors",
    "Loader": "drapps.loader",
    "LoaderIterator": "drapps.loader",
    "Pipeline": "drapps.pipeline",
    "MonitorError": "drapps.errors",
    "PipelineError": "drapps.errors",
    "SampleError": "drapps.errors",
    "WorkerDiedError": "drapps.errors",
    "WorkerStartError": "drapps.errors",
    "StateError": "drapps.errors",
    "Tokenise": "drapps.tokenizers.tokenise",
    "Tokenizer": "drapps.tokenizers.tokenizer",
    "analyze": "drapps.analysis.live",
    "arrays": "drapps.pipeline",
    "calibrate": "drapps.simulation.calibration.live",
    "cached": "drapps.item_cache.cached",
    "emulate": "drapps.storage",
    "image_bytes": "drapps.pipeline",
    "image_folder": "drapps.pipeline",
    "images": "drapps.pipeline",
    "litdata": "drapps.shards.packed",
    "mds": "drapps.shards.packed",
    "mixture": "drapps.corpus.pipeline",
    "text": "drapps.corpus.pipeline",
    "tokenizer": "drapps.tokenizers.tokenizer",
    "tokens": "drapps.token_shards.pipeline",
    "transcode": "drapps.forms",
    "watch": "drapps.watching.wrapped",
    "webdataset": "drapps.shards.webdataset",
}
_OLD_NAMES = {"BudgetSampler": "BucketBatchSampler"}
_MODULES = ("hf", "jax", "keras", "monitor", "tensorflow", "torch", "trace")

__all__ = [
    "Batch",
    "BucketBatchSampler",
    "DataNotFoundError",
    "Loader",
    "LoaderIterator",
    "MonitorError",
    "Pipeline",
    "PipelineError",
    "SampleError",
    "StateError",
    "Tokenise",
    "Tokenizer",
    "WorkerDiedError",
    "WorkerStartError",
    "__version__",
    "analyze",
    "arrays",
    "cached",
    "calibrate",
    "emulate",
    "image_bytes",
    "image_folder",
    "images",
    "litdata",
    "mds",
    "mixture",
    "text",
    "tokenizer",
    "tokens",
    "transcode",
    "watch",
    "webdataset",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"drapps.{name}")
    if name in _OLD_NAMES:
        from drapps import deprecation

        new = _OLD_NAMES[name]
        deprecation.warn(f"drapps.{name}", f"drapps.{new}")
        return getattr(importlib.import_module(_HOMES[new]), new)
    if name not in _HOMES:
        raise AttributeError(f"module 'drapps' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
