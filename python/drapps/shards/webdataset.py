"""Tar shards whose members make samples by their names, as WebDataset writes them."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import DataNotFoundError, PipelineError, SampleError
from drapps.pipeline import Pipeline
from drapps.shards.index import ShardIndex, shard_indexes
from drapps.shards.source import ShardSource, files_in

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps.source import PathLike

IMAGES = ("jpg", "jpeg", "png", "webp", "djc")
CLASSES_FILE = "classes.json"


def webdataset(
    shards: PathLike | Iterable[PathLike],
    *,
    image: str | Sequence[str] = IMAGES,
    label: str | tuple[str, str] | None = "cls",
    mask: str | Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    index: PathLike | None = "cache",
) -> Pipeline:
    """Pictures in tar shards: the members ``key.jpg`` and ``key.cls`` make the sample ``key``.

    The key of a member is its name up to the first dot of its last part, what follows is its
    extension. Samples are in the order of the shards and of their first members; any of them is
    read at random. Hidden files and ``__meta__`` members are passed over.

    Args:
        shards: a folder of ``*.tar``, a pattern (``train-*.tar``, ``train-{000..099}.tar``), or
            files in their order.
        image: extensions of pictures; where a sample has several, the first of these counts.
        label: extension of a member that holds a whole number as text; or (extension, field) of a
            JSON member that holds an object; None for no labels.
        mask: extensions of masks, which every sample then has.
        classes: names of the labels. A text that is no number is looked up here. A folder written
            by ``drapps pack`` brings them along.
        index: where the list of each shard is kept, so that it is made once: ``cache`` (the user's
            cache folder), ``beside`` (next to the shard), None, or a folder.

    Raises:
        DataNotFoundError: no such shards, or no samples in them.
        PipelineError: a sample without its picture or label; the message names shard and key.
        SampleError: a shard that is damaged, compressed or no tar file.
    """
    paths, written = _paths(shards)
    names = tuple(written if classes is None else _classes(classes))
    fields = Fields(
        image=_extensions("image", image),
        label=_label(label),
        mask=() if mask is None else _extensions("mask", mask),
        classes=names,
    )
    indexes = shard_indexes(paths, fields.describe(), fields.index_of, index)
    labels = {} if fields.label is None else {"label": "label"}
    return Pipeline(ShardSource(paths, indexes, labels, names))


def _extensions(what: str, given: str | Sequence[str]) -> tuple[str, ...]:
    endings = arguments.texts(what, given, "extensions such as 'jpg'")
    cleaned = tuple(ending.lower().removeprefix(".") for ending in endings)
    if not all(cleaned):
        raise PipelineError(f"{what}={given!r} must be extensions such as 'jpg', at least one")
    return cleaned


def _classes(given: Any) -> list[str]:
    names = arguments.elements(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise PipelineError(f"classes={given!r} must be names of classes, in the order of labels")
    return names


def _label(given: str | tuple[str, str] | None) -> tuple[str, str] | None:
    """Extension and field; the field is empty where the member is the label."""
    if given is None:
        return None
    pair = (given, "") if isinstance(given, str) else arguments.listed(given) or ()
    if len(pair) != 2 or not all(isinstance(part, str) for part in pair) or not pair[0]:
        raise PipelineError(f"label={given!r} must be an extension, (extension, field) or None")
    return _extensions("label", pair[0])[0], pair[1]


def _paths(shards: PathLike | Iterable[PathLike]) -> tuple[list[bytes], list[str]]:
    """The files, and the class names that lie beside them."""
    if not isinstance(shards, (str, bytes, os.PathLike)):
        paths = arguments.paths("shards", shards)
        if not paths:
            raise PipelineError("shards is empty: name at least one tar file")
        return paths, []
    text = arguments.path("shards", shards)
    if re.match(r"(pipe:|[a-z0-9]+://)", text):
        raise PipelineError(f"shards={text!r}: only local files are read; copy or mount them")
    folder = Path(text).expanduser()
    if folder.is_dir():
        return files_in(folder, ".tar"), _class_names(folder)
    paths = []
    for pattern in expand_braces(str(folder)):
        if glob.has_magic(pattern) and not Path(pattern).exists():
            matches = sorted(glob.glob(pattern))  # noqa: PTH207
            if not matches:
                raise DataNotFoundError(f"no file matches {pattern!r}")
            paths += [os.fsencode(path) for path in matches]
        else:
            paths.append(os.fsencode(pattern))
    return paths, _class_names(Path(os.fsdecode(paths[0])).parent)


def _class_names(folder: Path) -> list[str]:
    try:
        names = json.loads((folder / CLASSES_FILE).read_bytes())
    except (OSError, ValueError):
        return []
    well_formed = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if well_formed else []


def expand_braces(pattern: str) -> list[str]:
    """``a{0..2}`` is a0, a1, a2; ``a{x,y}`` is ax, ay; of several groups the last is fastest."""
    parts: list[list[str]] = []
    for text in re.split(r"(\{[^{}]*\})", pattern):
        ends = re.fullmatch(r"\{(\d+)\.\.(\d+)\}", text)
        if ends:
            first, last = int(ends[1]), int(ends[2])
            width = len(ends[1]) if ends[1].startswith("0") else 0
            step = 1 if last >= first else -1
            parts.append([str(i).zfill(width) for i in range(first, last + step, step)])
        elif text.startswith("{") and "," in text:
            parts.append(text[1:-1].split(","))
        else:
            parts.append([text])
    return ["".join(chosen) for chosen in itertools.product(*parts)]


@dataclass(frozen=True)
class Fields:
    """What of a sample's members is read."""

    image: tuple[str, ...]
    label: tuple[str, str] | None
    mask: tuple[str, ...]
    classes: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """The fields as a kept index remembers them."""
        return {
            "format": "webdataset",
            "image": list(self.image),
            "label": None if self.label is None else list(self.label),
            "mask": list(self.mask),
            "classes": list(self.classes),
        }

    def index_of(self, shard: bytes) -> ShardIndex:
        """Lists a shard and groups its members."""
        import numpy as np

        from drapps import _core

        keep = [] if self.label is None else [self.label[0]]
        identity, names, offsets, sizes, kept, contents = _core.list_tar(shard, keep)
        texts = dict(zip(kept.tolist(), contents, strict=True))
        places = {name: place for place, name in enumerate(self.classes)}
        samples = _samples(shard, names)
        images, masks, labels = [], [], []
        for key, members in samples.items():
            images.append(_first(shard, key, members, "image", self.image))
            if self.mask:
                masks.append(_first(shard, key, members, "mask", self.mask))
            if self.label is not None:
                content = texts.get(members.get(self.label[0], -1))
                labels.append(self._label_of(shard, key, content, places))

        def ranges(prefix: str, of: list[int]) -> dict[str, npt.NDArray[np.integer[Any]]]:
            at = np.asarray(of, np.int64)
            lengths = sizes[at]
            if len(at) and lengths.max() >= 2**32:
                large = os.fsdecode(names.split(b"\0")[of[int(lengths.argmax())]])
                raise SampleError(
                    "setup",
                    "too large",
                    os.fsdecode(shard),
                    -1,
                    -1,
                    f"member {large!r} has 4 GiB or more, which is no picture; leave it out",
                )
            return {prefix + "offset": offsets[at], prefix + "length": lengths.astype(np.uint32)}

        columns = ranges("", images)
        if self.mask:
            columns |= ranges("mask_", masks)
        if self.label is not None:
            columns["label"] = np.asarray(labels, np.int64)
        return ShardIndex(identity, columns)

    def _label_of(
        self, shard: bytes, key: bytes, content: bytes | None, places: Mapping[str, int]
    ) -> int:
        assert self.label is not None
        extension, field = self.label
        where = f"sample {os.fsdecode(key)!r} in {os.fsdecode(shard)!r}"
        if content is None:
            raise PipelineError(
                f"{where} has no label (.{extension}): name another with label=, or label=None"
            )
        text: Any = content.decode("utf-8", "replace").strip()
        if field:
            try:
                text = json.loads(content)[field]
            except (ValueError, KeyError, TypeError, IndexError):
                raise PipelineError(
                    f"{where}: its .{extension} is no JSON object with a field {field!r}"
                ) from None
        if isinstance(text, int) or re.fullmatch(r"[+-]?[0-9]{1,20}", str(text)):
            number = int(text)
        elif isinstance(text, str) and text in places:
            number = places[text]
        else:
            raise PipelineError(
                f"{where} has the label {text!r}, which is no whole number and not one of classes="
            )
        if not -(2**63) <= number < 2**63:
            raise PipelineError(f"{where} has the label {number}, which is no int64")
        return number


def _samples(shard: bytes, names: bytes) -> dict[bytes, dict[str, int]]:
    """The members of each key, by extension, as their numbers in the shard."""
    samples: dict[bytes, dict[str, int]] = {}
    for number, name in enumerate(names.split(b"\0")[:-1]):
        folder, slash, last = name.rpartition(b"/")
        stem, dot, extension = last.partition(b".")
        if not stem or not dot or b"/__" in b"/" + name:
            continue
        members = samples.setdefault(folder + slash + stem, {})
        if (
            members.setdefault(extension.lower().decode("utf-8", "surrogateescape"), number)
            != number
        ):
            raise PipelineError(
                f"{os.fsdecode(shard)!r} has the member {os.fsdecode(name)!r} twice: leave one out"
            )
    return samples


def _first(
    shard: bytes, key: bytes, members: Mapping[str, int], what: str, extensions: Sequence[str]
) -> int:
    for extension in extensions:
        if extension in members:
            return members[extension]
    raise PipelineError(
        f"sample {os.fsdecode(key)!r} in {os.fsdecode(shard)!r} has no {what} "
        f"({', '.join(extensions)}), only {', '.join(members)}: name the right one with {what}="
    )
