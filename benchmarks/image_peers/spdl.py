"""Rival: SPDL, whose threads decode, crop and scale by FFmpeg."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import spdl.io
from spdl.pipeline import PipelineBuilder

from benchmarks.image_peers.peer import Peer, listing, run

_Batch = list[tuple[str, int]]


class SpdlPeer(Peer):
    """See `Peer`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self._samples = list(zip(*listing(spec), strict=True))
        self._random = random.Random(spec["seed"])
        self._pipeline = (
            PipelineBuilder()
            .add_source(self._endless())
            .pipe(self._load, concurrency=spec["workers"])
            .add_sink(2)
            .build(num_threads=spec["workers"])
        )
        self._pipeline.start()

    def _endless(self) -> Iterator[_Batch]:
        size = self.spec["batch"]
        while True:
            order = self._random.sample(self._samples, len(self._samples))
            for first in range(0, len(order) - size + 1, size):
                yield order[first : first + size]

    def _load(self, batch: _Batch) -> tuple[Any, list[int]]:
        frames = []
        for file, _ in batch:
            packets = spdl.io.demux_image(file)
            frames.append(
                spdl.io.decode_packets(packets, filter_desc=self._filters(*_size(packets)))
            )
        return spdl.io.to_numpy(spdl.io.convert_frames(frames)), [label for _, label in batch]

    def _filters(self, width: int, height: int) -> str:
        """A random resized crop and a flip in FFmpeg's words."""
        spec = self.spec
        x, y, w, h = self._crop(width, height)
        side = spec["crop"]
        words = [f"crop={w}:{h}:{x}:{y}:exact=1", f"scale={side}:{side}:flags=bilinear"]
        words.append("format=pix_fmts=rgb24")
        if self._random.random() < spec["flip"]:
            words.append("hflip")
        return ",".join(words)

    def _crop(self, width: int, height: int) -> tuple[int, int, int, int]:
        low, high = map(math.log, self.spec["ratio"])
        for _ in range(10):
            area = width * height * self._random.uniform(*self.spec["scale"])
            ratio = math.exp(self._random.uniform(low, high))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                x, y = self._random.randint(0, width - w), self._random.randint(0, height - h)
                return x, y, w, h
        side = min(width, height)
        return (width - side) // 2, (height - side) // 2, side, side

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as NumPy's arrays over SPDL's buffers."""
        yield from self._pipeline.get_iterator()

    def close(self) -> None:
        """Ends its threads."""
        self._pipeline.stop()


def _size(packets: Any) -> tuple[int, int]:
    return packets.codec.width, packets.codec.height


if __name__ == "__main__":
    run(SpdlPeer)
