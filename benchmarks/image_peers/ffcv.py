"""Rival: FFCV, from a store of the files' own JPEG bytes or of raw pixels of reduced size.

Its own JPEG writer would encode the pictures anew, and lighter; here the store holds the very
bytes of the files, so that it decodes what everyone decodes. The raw store holds other pictures:
256 pixels on the longer side, as its authors' scripts make them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from benchmarks.image_peers.peer import Peer, listing, run

_RAW_SIDE = 256


class _OwnBytes(RGBImageField):  # type: ignore[misc]
    """A field of pictures that takes the path of a JPEG file, and keeps the file as it is."""

    def encode(self, destination: Any, image: str, malloc: Any) -> None:
        with Image.open(image) as opened:
            destination["width"], destination["height"] = opened.size
        data = np.fromfile(image, np.uint8)
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["data_ptr"], storage = malloc(data.nbytes)
        storage[:] = data


class _Photos:
    """The photographs as FFCV's writer wants them: an indexable of (image, label)."""

    def __init__(self, files: list[str], labels: list[int], raw: bool) -> None:
        self._files, self._labels, self._raw = files, labels, raw

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        file = self._files[index]
        if not self._raw:
            return file, self._labels[index]
        with Image.open(file) as opened:
            return np.array(opened.convert("RGB")), self._labels[index]


def _photos(spec: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Each photograph once: what is loaded is listed `copies` times instead."""
    files, labels = listing(spec)
    once = len(files) // spec["copies"]
    return files[:once], labels[:once]


class FfcvPeer(Peer):
    """See `Peer`; the variant is `raw`: true or false."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        once = len(_photos(spec)[0])
        mean, std = 255 * np.array(spec["mean"]), 255 * np.array(spec["std"])
        crop = RandomResizedCropRGBImageDecoder(
            (spec["crop"], spec["crop"]), tuple(spec["scale"]), tuple(spec["ratio"])
        )
        flip = RandomHorizontalFlip(spec["flip"])
        # Normalising before ToTensor: a compiled op after one that is not never ends.
        normalize = NormalizeImage(mean, std, np.float32)
        self._loader = Loader(
            spec["store"],
            batch_size=spec["batch"],
            num_workers=spec["workers"],
            order=OrderOption.RANDOM,
            os_cache=True,
            seed=spec["seed"],
            custom_fields={} if spec["raw"] else {"image": _OwnBytes},
            indices=np.tile(np.arange(once, dtype=np.uint64), spec["copies"]),
            pipelines={
                "image": [crop, flip, normalize, ToTensor(), ToTorchImage()],
                "label": [IntDecoder(), ToTensor()],
            },
        )

    @classmethod
    def prepare(cls, spec: dict[str, Any]) -> None:
        """Writes the store."""
        store = Path(spec["store"])
        if store.is_file():
            return
        new = store.with_suffix(".new")
        new.unlink(missing_ok=True)
        if spec["raw"]:
            field = RGBImageField(write_mode="raw", max_resolution=_RAW_SIDE)
        else:
            field = _OwnBytes(write_mode="jpg")
        writer = DatasetWriter(str(new), {"image": field, "label": IntField()})
        writer.from_indexed_dataset(_Photos(*_photos(spec), raw=spec["raw"]))
        new.rename(store)

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as torch tensors in FFCV's own buffers."""
        while True:
            yield from self._loader


if __name__ == "__main__":
    run(FfcvPeer)
