"""Rival: mlx-data, whose batches stay bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.data as dx
import mlx.data.core

from benchmarks.image_peers.peer import Peer, listing, run


class MlxPeer(Peer):
    """See `Peer`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        files, labels = listing(spec)
        self._samples = dx.buffer_from_vector(
            [
                {"image": file.encode(), "label": label}
                for file, label in zip(files, labels, strict=True)
            ]
        )
        mlx.data.core.set_state(spec["seed"])

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as arrays of mlx-data."""
        spec = self.spec
        while True:
            stream = self._samples.shuffle().to_stream().load_image("image")
            if not spec.get("whole"):  # which its random crop cannot take
                stream = stream.image_random_area_crop(
                    "image", tuple(spec["scale"]), tuple(spec["ratio"])
                )
            stream = (
                stream.image_resize("image", spec["crop"], spec["crop"])
                .image_random_h_flip("image", spec["flip"])
                .batch(spec["batch"])
                .prefetch(2 * spec["workers"], spec["workers"])
            )
            for batch in stream:
                yield batch["image"], batch["label"]


if __name__ == "__main__":
    run(MlxPeer)
