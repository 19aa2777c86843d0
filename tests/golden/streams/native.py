"""The builder: sources, ops, batch ops, forms of batches, shares of ranks, places to resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import drapps
from drapps.shards.pack import pack
from python.tests.shard_files import write_litdata, write_mds, write_tar
from tests.golden.streams import inputs
from tests.golden.streams.record import Case

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _train(source: drapps.Pipeline) -> drapps.Pipeline:
    source = source.random_resized_crop(24, scale=(0.2, 1.0)).flip()
    source = source.color_jitter(0.4, 0.4, 0.4, 0.1).normalize(_MEAN, _STD)
    return source.random_erasing(0.5).shuffle(5).seed(9)


def _bytes() -> drapps.Pipeline:
    return drapps.image_bytes(inputs.records(), inputs.labels())


def _epochs(pipeline: drapps.Pipeline, count: int = 2) -> Iterator[Any]:
    loader = pipeline.batch(5)
    for _ in range(count):
        yield from loader.torch()


def _folder(root: Path) -> Iterator[Any]:
    return _epochs(_train(drapps.image_folder(inputs.folder(root))))


def _files(root: Path) -> Iterator[Any]:
    files = sorted(inputs.folder(root).rglob("*.*"))
    return _epochs(_train(drapps.images(files, inputs.labels()[::-1])))


def _coefficients(_: Path) -> Iterator[Any]:
    forms = [drapps.transcode(data) for data in inputs.records("jpeg4*.jpg")]
    return _epochs(_train(drapps.image_bytes(forms)))


def _masks(_: Path) -> Iterator[Any]:
    masks = inputs.records("palette.png")
    pipeline = drapps.image_bytes(masks, masks=masks).random_resize(20, 50).flip()
    return _epochs(pipeline.random_crop(30, padding=(1, 2), pad_if_needed=True, mask_fill=255))


def _boxes(_: Path) -> Iterator[Any]:
    starts = np.minimum(np.arange(inputs.COUNT + 1) * 2, 40)
    corners = inputs.numbers(40, 2, 2).astype(np.float32) / 9
    corners = np.concatenate([corners.min(1), corners.max(1) + 1], axis=1)
    boxes = (starts, corners, np.arange(40))
    pipeline = drapps.image_bytes(inputs.records(), boxes=boxes).random_resized_crop(28).flip()
    return _epochs(pipeline.max_boxes(2))


def _packed(root: Path) -> Iterator[Any]:
    pack(inputs.folder(root), root / "packed", shard_bytes=1 << 15)
    return _epochs(_train(drapps.webdataset(root / "packed", index=None)))


def _tar(root: Path) -> Iterator[Any]:
    members = []
    for number, (data, label) in enumerate(zip(inputs.records(), inputs.labels(), strict=True)):
        members += [(f"{number:03}.png", data), (f"{number:03}.cls", str(label).encode())]
    shard = write_tar(root / "one.tar", members)
    return _epochs(_train(drapps.webdataset([shard], index=None)))


def _mds(root: Path) -> Iterator[Any]:
    write_mds(root / "mds", inputs.records(), inputs.labels())
    return _epochs(_train(drapps.mds(root / "mds", index=None)))


def _litdata(root: Path) -> Iterator[Any]:
    write_litdata(root / "litdata", inputs.records(), inputs.labels())
    return _epochs(_train(drapps.litdata(root / "litdata", label="meta.label", index=None)))


def _hugging_face(_: Path) -> Iterator[Any]:
    import datasets

    rows = [{"bytes": data, "path": None} for data in inputs.records()]
    kinds = {"image": datasets.Image(), "label": datasets.Value("int64")}
    columns = {"image": rows, "label": inputs.labels()}
    table = datasets.Dataset.from_dict(columns, datasets.Features(kinds))
    return _epochs(_train(drapps.hf.images(table)))


def _arrays(_: Path) -> Iterator[Any]:
    return _epochs(drapps.arrays(inputs.columns()).shuffle(2))


def _array_pictures(_: Path) -> Iterator[Any]:
    pipeline = drapps.arrays(inputs.columns(), pictures="image")
    return _epochs(pipeline.random_crop(20, padding=4).flip().normalize(_MEAN, _STD).shuffle(2))


def _other_ops(_: Path) -> Iterator[Any]:
    pipeline = _bytes().decode(exif="apply").resize(40, interpolation="bicubic").pad(2, 7)
    pipeline = pipeline.resize_keep_ratio((34, 30), 0.4, "random", scale_p=0.5, aspect_p=0.5)
    pipeline = pipeline.random_grayscale(0.3).flip_vertical().center_crop((28, 26), mode="reflect")
    pipeline = pipeline.random_apply(lambda p: p.flip(1.0).color_jitter(hue=0.2), 0.4)
    return _epochs(pipeline.crop(1, 2, (24, 20)).random_crop(16).shuffle(1))


def _gray(_: Path) -> Iterator[Any]:
    pipeline = _bytes().decode(color="gray").random_resized_crop(16, interpolation="bicubic")
    return _epochs(pipeline.to("uint8", "nhwc").shuffle(3))


def _torch_arithmetic(_: Path) -> Iterator[Any]:
    pipeline = _bytes().random_resized_crop(20, arithmetic="torch_uint8", interpolation="bicubic")
    return _epochs(pipeline.grayscale(3).to("uint8"))


def _half(dtype: str) -> Case:
    return lambda _: _epochs(_train(_bytes()).to(dtype, "nhwc"))


def _mixed(mix: Callable[[drapps.Pipeline], drapps.Pipeline]) -> Case:
    return lambda _: _epochs(mix(_train(_bytes())))


def _bad(action: str) -> Case:
    def batches(_: Path) -> Iterator[Any]:
        records = inputs.records()
        records[4] = records[17] = b"no picture"
        return _epochs(_train(drapps.image_bytes(records)).on_error(action))

    return batches


def _share(remainder: str) -> Case:
    def batches(_: Path) -> Iterator[Any]:
        for rank in range(3):
            yield from _epochs(_train(_bytes()).shard(rank, 3, remainder))

    return batches


def _resumed(_: Path) -> Iterator[Any]:
    first = _train(_bytes()).shard(1, 2).batch(2)
    iterator = iter(first)
    for _batch in range(3):
        next(iterator)
    state = iterator.state_dict()
    iterator.close()
    for size in (2, 3):
        again = _train(_bytes()).shard(1, 2).batch(size)
        again.load_state_dict(state)
        for _epoch in range(2):
            yield from again.torch()


CASES: dict[str, Case] = {
    "folder": _folder,
    "files": _files,
    "bytes": lambda _: _epochs(_train(_bytes())),
    "coefficients": _coefficients,
    "masks": _masks,
    "boxes": _boxes,
    "packed": _packed,
    "tar": _tar,
    "mds": _mds,
    "litdata": _litdata,
    "hugging-face": _hugging_face,
    "arrays": _arrays,
    "array-pictures": _array_pictures,
    "other-ops": _other_ops,
    "gray": _gray,
    "torch-arithmetic": _torch_arithmetic,
    "bfloat16": _half("bfloat16"),
    "float16": _half("float16"),
    "mixup": _mixed(lambda p: p.mixup(0.4, 5)),
    "cutmix": _mixed(lambda p: p.cutmix(1.0, 5)),
    "cutmix-or-mixup": _mixed(lambda p: p.cutmix_or_mixup(num_classes=5)),
    "replaced": _bad("replace"),
    "skipped": _bad("skip"),
    "share-even": _share("even"),
    "share-pad": _share("pad"),
    "share-drop": _share("drop"),
    "resumed": _resumed,
}
