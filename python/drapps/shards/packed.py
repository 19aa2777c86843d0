"""Packed shards with an index.json: MosaicML's MDS and LitData's chunks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import DataNotFoundError, PipelineError, SampleError
from drapps.pipeline import Pipeline
from drapps.shards.index import ShardIndex, shard_indexes
from drapps.shards.source import ShardSource, check_label_names

if TYPE_CHECKING:
    from drapps.source import PathLike

VARIABLE = -1
# Encodings of MDS by what is in them. Whole numbers have a fixed size, or are digits.
MDS_IMAGES = ("jpeg", "png", "bytes")
MDS_INTEGERS = {
    "int": "signed",
    **{f"int{bits}": "signed" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": "unsigned" for bits in (8, 16, 32, 64)},
    "str_int": "decimal",
}
LITDATA_IMAGES = ("jpeg", "image", "bytes", "file")
LITDATA_INTEGERS = {"int": "signed", "bool": "unsigned"}


@dataclass(frozen=True)
class Columns:
    """What each sample holds, in the order of the file.

    Attributes:
        names: of the columns.
        encodings: what is in each.
        sizes: bytes of each, or VARIABLE where they stand in the sample.
    """

    names: tuple[str, ...]
    encodings: tuple[str, ...]
    sizes: tuple[int, ...]


def mds(
    folder: PathLike,
    *,
    image: str = "image",
    label: str | Sequence[str] | None = "label",
    index: PathLike | None = "cache",
) -> Pipeline:
    """Pictures in a folder of MDS shards, as MosaicML's ``MDSWriter`` writes them.

    Args:
        folder: holds ``index.json`` and the shards, uncompressed.
        image: a column of encoded pictures: jpeg, png or bytes.
        label: a column of whole numbers, which batches have as ``label``; several keep their names;
            None for no labels.
        index: where the list of each shard is kept; see `drapps.webdataset`.

    Raises:
        DataNotFoundError: no such folder, index or shard.
        PipelineError: no such columns.
        SampleError: of code ``unsupported`` for compressed shards; a damaged file.
    """
    place, described = _index_json(folder)
    shards: dict[bytes, Any] = {}
    columns: Columns | None = None
    for shard in _items(place, described, "shards"):
        if shard.get("format") != "mds":
            raise _unsupported(
                place, f"its shards have the format {shard.get('format')!r}, not mds"
            )
        raw = _file(place, shard, "raw_data", "basename")
        if shard.get("zip_data") is not None and not Path(os.fsdecode(raw)).exists():
            raise _unsupported(
                place,
                f"its shards are compressed ({shard.get('compression')}): decompress each beside "
                "itself, or write them with compression=None; pictures are compressed already",
            )
        if not shard.get("samples"):
            continue
        has = Columns(
            tuple(shard["column_names"]),
            tuple(shard["column_encodings"]),
            tuple(VARIABLE if size is None else int(size) for size in shard["column_sizes"]),
        )
        if columns is not None and has != columns:
            raise _unsupported(place, "its shards have different columns: read each kind by itself")
        columns = has
        shards[raw] = shard["samples"]
    if columns is None:
        raise DataNotFoundError(f"there are no samples in {str(place)!r}")
    return _pipeline("mds", shards, columns, image, label, MDS_IMAGES, MDS_INTEGERS, index)


def litdata(
    folder: PathLike,
    *,
    image: str = "image",
    label: str | Sequence[str] | None = "label",
    index: PathLike | None = "cache",
) -> Pipeline:
    """Pictures in a folder of LitData chunks, as ``litdata.optimize`` writes them.

    Columns are called by the keys of the dictionaries that were written; of tuples and lists by
    their place ("0", "1"), and inside others by both ("meta.label").

    Args:
        folder: holds ``index.json`` and the chunks, neither compressed nor encrypted.
        image: a column of encoded pictures: jpeg or bytes.
        label: a column of whole numbers, which batches have as ``label``; several keep their names;
            None for no labels.
        index: where the list of each chunk is kept; see `drapps.webdataset`.

    Raises:
        DataNotFoundError: no such folder, index or chunk.
        PipelineError: no such columns.
        SampleError: of code ``unsupported`` for compressed chunks; a damaged file.
    """
    place, described = _index_json(folder)
    config = described.get("config")
    if not isinstance(config, dict):
        raise _damaged(place, "has no config")
    for what in ("compression", "encryption"):
        if config.get(what):
            raise _unsupported(
                place,
                f"its chunks have {what}: write them without; pictures are compressed already",
            )
    if config.get("item_loader") not in (None, "PyTreeLoader"):
        raise _unsupported(
            place, f"its items are for {config['item_loader']}, not for PyTreeLoader"
        )
    formats = tuple(str(name) for name in config.get("data_format") or ())
    spec = config.get("data_spec")
    names = tuple(str(i) for i in range(len(formats)))
    if isinstance(spec, str):
        names = tuple(leaf_names(json.loads(spec)[1]))
    if len(names) != len(formats):
        raise _damaged(place, f"has {len(formats)} formats for the columns {', '.join(names)}")
    columns = Columns(names, formats, (VARIABLE,) * len(formats))
    chunks = _items(place, described, "chunks")
    shards = {_file(place, chunk, "filename"): chunk.get("chunk_size") for chunk in chunks}
    return _pipeline(
        "litdata", shards, columns, image, label, LITDATA_IMAGES, LITDATA_INTEGERS, index
    )


def leaf_names(spec: Mapping[str, Any]) -> list[str]:
    """The path to each leaf of a tree that ``torch.utils._pytree`` has written as JSON."""
    children = spec.get("children_spec") or []
    if spec.get("type") is None and not children:
        return [""]
    context = json.loads(spec["context"]) if isinstance(spec.get("context"), str) else None
    keys = context if isinstance(context, list) and len(context) == len(children) else None
    names = []
    for number, child in enumerate(children):
        key = str(number if keys is None else keys[number])
        names += [f"{key}.{name}".rstrip(".") for name in leaf_names(child)]
    return names


def _pipeline(
    kind: str,
    shards: Mapping[bytes, Any],
    columns: Columns,
    image: str,
    label: str | Sequence[str] | None,
    images: Sequence[str],
    integers: Mapping[str, str],
    index: PathLike | None,
) -> Pipeline:
    """The samples of `shards`, which hold so many each."""
    wanted = [] if label is None else [label] if isinstance(label, str) else list(label)
    named = {"label": label} if isinstance(label, str) else {name: name for name in wanted}
    check_label_names(list(named))

    def place_of(name: str, what: str, known: Sequence[str]) -> int:
        there = ", ".join(
            f"{n} ({e})" for n, e in zip(columns.names, columns.encodings, strict=True)
        )
        if name not in columns.names:
            raise PipelineError(f"{what}={name!r} is no column; there are {there}")
        place = columns.names.index(name)
        if columns.encodings[place].partition(":")[0] not in known:
            raise PipelineError(
                f"{what}={name!r} is {columns.encodings[place]}; it must be one of "
                f"{', '.join(known)}. There are {there}"
            )
        return place

    picture = place_of(image, "image", images)
    places = [place_of(name, "label", list(integers)) for name in wanted]
    labels = [(place, integers[columns.encodings[place]]) for place in places]

    def list_one(shard: bytes) -> ShardIndex:
        from drapps import _core

        identity, offsets, lengths, values = _core.list_packed(
            shard, list(columns.sizes), picture, labels
        )
        by_label = dict(zip((f"label:{name}" for name in wanted), values, strict=True))
        return ShardIndex(identity, {"offset": offsets, "length": lengths, **by_label})

    what = {
        "format": kind,
        "columns": list(columns.sizes),
        "image": picture,
        "labels": [[name, *how] for name, how in zip(wanted, labels, strict=True)],
    }
    indexes = shard_indexes(list(shards), what, list_one, index)
    for (shard, samples), entry in zip(shards.items(), indexes, strict=True):
        if len(entry) != samples:
            message = f"the shard holds {len(entry)} samples, index.json says {samples}; restore it"
            raise SampleError("setup", "corrupt", os.fsdecode(shard), -1, -1, message)
    return Pipeline(
        ShardSource(list(shards), indexes, {name: f"label:{of}" for name, of in named.items()})
    )


def _index_json(folder: PathLike) -> tuple[Path, dict[str, Any]]:
    place = Path(arguments.path("folder", folder, "folder")).expanduser()
    path = place / "index.json"
    if not path.is_file():
        raise DataNotFoundError(f"{str(path)!r} is not there: name the folder that holds it")
    try:
        described = json.loads(path.read_bytes())
    except ValueError as error:
        raise _damaged(place, f"is no JSON ({error})") from None
    if not isinstance(described, dict):
        raise _damaged(place, "holds no object")
    return place, described


def _items(place: Path, described: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    items = described.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _damaged(place, f"has no list of {name}")
    if not items:
        raise DataNotFoundError(f"there are no {name} in {str(place)!r}")
    return items


def _file(place: Path, item: Mapping[str, Any], *keys: str) -> bytes:
    """The file that an entry names, which must lie in the folder."""
    name: Any = item
    for key in keys:
        name = name.get(key) if isinstance(name, dict) else None
    if not isinstance(name, str) or not name or name.startswith("/") or ".." in Path(name).parts:
        raise _damaged(place, f"has an entry whose file is {name!r}")
    return os.fsencode(place / name)


def _damaged(place: Path, what: str) -> SampleError:
    path = str(place / "index.json")
    return SampleError("setup", "corrupt", path, -1, -1, f"the file {what}; restore it")


def _unsupported(place: Path, what: str) -> SampleError:
    return SampleError("setup", "unsupported", str(place / "index.json"), -1, -1, what)
