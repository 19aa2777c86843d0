"""Train with jax, data-parallel on all devices: `python examples/jax_train.py DIR`.

DIR holds one folder of pictures per class. Needs jax.
"""

import sys

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import drapps


def main(root: str) -> None:
    """Trains a linear classifier for two epochs."""
    mesh = Mesh(jax.devices(), "data")
    rows = NamedSharding(mesh, PartitionSpec("data"))
    replicated = NamedSharding(mesh, PartitionSpec())

    pipeline = drapps.image_folder(root).random_resized_crop(32).flip().shuffle(seed=1)
    host = pipeline.batch(4 * mesh.size, drop_last=True)  # so that each batch can be cut
    loader = drapps.jax.Loader(host, rows)

    @jax.jit
    def step(weights: jax.Array, images: jax.Array, labels: jax.Array) -> jax.Array:
        def loss(weights: jax.Array) -> jax.Array:
            scores = jax.nn.log_softmax(images.reshape(len(images), -1) @ weights)
            return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

        return weights - 1e-3 * jax.grad(loss)(weights)

    weights = jax.device_put(jnp.zeros((3 * 32 * 32, len(host.classes))), replicated)
    seen = 0
    for _ in range(2):
        for batch in loader:
            assert batch["image"].sharding.is_equivalent_to(rows, 4)
            weights = step(weights, batch["image"], batch["label"])
            seen += len(batch["label"])
    assert bool(jnp.isfinite(weights).all())
    print(f"trained on {seen} pictures, {len(mesh.devices)} device(s)")


if __name__ == "__main__":
    main(sys.argv[1])
