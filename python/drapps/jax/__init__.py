"""A loader's batches as jax arrays, on one device or sharded over many: ``drapps.jax.Loader``.

    loader = drapps.image_folder("photos").random_resized_crop(224).shuffle().batch(256)
    for batch in drapps.jax.Loader(loader, sharding):
        state = train_step(state, batch["image"], batch["label"])

jax is imported in this package and nowhere else.
"""

from __future__ import annotations

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"drapps.jax needs {error.name}: pip install 'jax>=0.6' (for GPUs 'jax[cuda13]')",
        name=error.name,
    ) from None

from drapps.jax.loader import Loader

__all__ = ["Loader"]
