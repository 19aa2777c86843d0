"""Shards of each format, written by what the formats' descriptions say."""

import io
import json
import struct
import tarfile
from pathlib import Path


def write_tar(path: Path, members, format=tarfile.USTAR_FORMAT) -> Path:  # noqa: A002
    """Members are (name, bytes)."""
    with tarfile.open(path, "w", format=format) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def shard_bytes(samples, between: bytes = b"") -> bytes:
    """Count, offsets, something between, samples."""
    first = 4 * (len(samples) + 2) + len(between)
    offsets = [first]
    for sample in samples:
        offsets.append(offsets[-1] + len(sample))
    head = struct.pack(f"<{len(samples) + 2}I", len(samples), *offsets)
    return head + between + b"".join(samples)


def sample_bytes(values, fixed=()) -> bytes:
    """The sizes of the values that have no fixed size, then all values."""
    sizes = [len(value) for place, value in enumerate(values) if place not in fixed]
    return struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(values)


def write_mds(root: Path, pictures, labels, each: int = 3, encoding: str = "jpeg") -> Path:
    """Columns `extra` (text), `image` and `label` (int), `each` samples to a shard."""
    root.mkdir()
    shards = []
    description = {
        "column_names": ["extra", "image", "label"],
        "column_encodings": ["str", encoding, "int"],
        "column_sizes": [None, None, 8],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": 1 << 26,
        "version": 2,
        "zip_data": None,
    }
    for number, first in enumerate(range(0, len(pictures), each)):
        samples = [
            sample_bytes([b"text" * i, pictures[i], struct.pack("<q", labels[i])], fixed={2})
            for i in range(first, min(first + each, len(pictures)))
        ]
        name = f"shard.{number:05}.mds"
        content = shard_bytes(samples, json.dumps(description).encode())
        (root / name).write_bytes(content)
        raw = {"basename": name, "bytes": len(content), "hashes": {}}
        shards.append({**description, "samples": len(samples), "raw_data": raw})
    (root / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    return root


def write_litdata(root: Path, pictures, labels, each: int = 3) -> Path:
    """Dictionaries of `image` (jpeg) and `meta`, itself of `label` (int) and `text` (str)."""
    root.mkdir()
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = {
        "type": "builtins.dict",
        "context": json.dumps(["image", "meta"]),
        "children_spec": [
            leaf,
            {
                "type": "builtins.dict",
                "context": json.dumps(["label", "text"]),
                "children_spec": [leaf, leaf],
            },
        ],
    }
    chunks = []
    for number, first in enumerate(range(0, len(pictures), each)):
        samples = [
            sample_bytes([pictures[i], struct.pack("<q", labels[i]), b"text" * i])
            for i in range(first, min(first + each, len(pictures)))
        ]
        name = f"chunk-0-{number}.bin"
        content = shard_bytes(samples)
        (root / name).write_bytes(content)
        chunks.append(
            {"chunk_bytes": len(content), "chunk_size": len(samples), "dim": None, "filename": name}
        )
    config = {
        "chunk_bytes": 1 << 26,
        "chunk_size": None,
        "compression": None,
        "data_format": ["jpeg", "int", "str"],
        "data_spec": json.dumps([1, spec]),
        "encryption": None,
        "item_loader": "PyTreeLoader",
    }
    (root / "index.json").write_text(json.dumps({"chunks": chunks, "config": config}))
    return root
