"""The fluent description of a pipeline: what to read, what to do with it, in which order.

A `Pipeline` is immutable; each method returns another one, so that a training and a validation
pipeline may share their beginning. `Pipeline.batch` ends the description and gives the `Loader`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments
from drapps.arguments import Bytes
from drapps.array_source import array_source
from drapps.deprecation import old_keyword
from drapps.errors import PipelineError
from drapps.picture_ops import PictureOps
from drapps.placement import Placement
from drapps.policy import Policy
from drapps.resources import Resources
from drapps.sampled import Sampled
from drapps.source import EXTENSIONS, file_source, folder_source, memory_source
from drapps.spec import MOST_ROWS, Decode, Spec

if TYPE_CHECKING:
    from drapps.loader import Loader
    from drapps.source import PathLike

_MOST_BOXES = 1_000_000


def image_folder(path: PathLike, extensions: Iterable[str] = EXTENSIONS) -> Pipeline:
    """Pictures in one folder per class; labels follow the sorted class names.

    Raises:
        DataNotFoundError: no such folder, no class folders, or a class without pictures.
    """
    return Pipeline(folder_source(path, extensions))


def images(
    paths: Iterable[PathLike],
    labels: Any = None,
    masks: Iterable[PathLike] | None = None,
    boxes: tuple[Any, Any, Any] | None = None,
) -> Pipeline:
    """Picture files in the given order.

    Args:
        paths: the files, N of them.
        labels: N integers; without them batches have no ``label``.
        masks: N picture files of class ids, which move with the pictures.
        boxes: ``(offsets, corners, labels)``: int64 ``(N + 1,)``, float32 ``(M, 4)`` as x0, y0, x1,
            y1 in pixels, int64 ``(M,)``; sample i has the boxes from offsets[i] to offsets[i + 1].
    """
    return Pipeline(file_source(paths, labels, masks, boxes))


def image_bytes(
    records: Iterable[bytes],
    labels: Any = None,
    masks: Iterable[bytes] | None = None,
    boxes: tuple[Any, Any, Any] | None = None,
) -> Pipeline:
    """Encoded pictures (JPEG, PNG, WebP, coefficients) in memory; otherwise as `images`."""
    return Pipeline(memory_source(records, labels, masks, boxes))


def arrays(
    columns: Mapping[str, Any], pictures: str | None = None, layout: str = "nhwc"
) -> Pipeline:
    """Arrays in memory, of equal lengths: sample i is row i of each.

    A batch has the same columns, in the same dtypes. Nothing is copied beforehand: a row is read
    when its batch is made, so the arrays may be changed between epochs, and not replaced.

    Args:
        columns: NumPy arrays, or what ``numpy.asarray`` takes without a copy, by name; any
            numbers or bools.
        pictures: the one that ops work on and that `Pipeline.to` and `Pipeline.normalize` make
            numbers of: uint8, of (N, height, width) or with 1 or 3 channels.
        layout: where the channels of `pictures` stand: ``nhwc`` or ``nchw``.

    Raises:
        PipelineError: lengths that differ, a dtype that is none of numbers, rows with gaps.
    """
    return Pipeline(array_source(columns, pictures, layout))


@dataclass(frozen=True)
class Pipeline(PictureOps, Sampled):
    """What to do with the samples of a source. Start with `drapps.image_folder` or its siblings.

    Ops run in the order of their calls. Every random op draws from (seed, epoch, position), so a
    stream depends on nothing else. Arguments that make no sense raise `PipelineError` at once.
    """

    def decode(self, *, color: str = "rgb", exif: str = "ignore", depth: str = "raise") -> Pipeline:
        """How files become pictures.

        Args:
            color: ``rgb`` or ``gray``.
            exif: ``apply`` turns the picture as its EXIF orientation says, ``ignore`` does not.
            depth: 16-bit files: ``raise`` refuses them, ``clip`` cuts at 255 as Pillow does,
                ``scale`` keeps the upper eight bits' range.
        """
        decode = Decode(
            color=arguments.one_of("color", color, ("rgb", "gray")),
            exif=arguments.one_of("exif", exif, ("ignore", "apply")),
            depth=arguments.one_of("depth", depth, ("raise", "clip", "scale")),
        )
        return self._with(decode=decode)

    def normalize(self, mean: Sequence[float], std: Sequence[float]) -> Pipeline:
        """``(x / 255 - mean) / std`` per channel, with torch's rounding."""
        means, stds = arguments.floats("mean", mean), arguments.floats("std", std)
        if len(means) != len(stds) or not means:
            raise PipelineError(f"mean={mean} and std={std} must have one number per channel each")
        if 0.0 in stds:
            raise PipelineError(f"std={std} must not hold a zero: it divides")
        return self._with(tensor=replace(self._spec.tensor, mean=means, std=stds))

    def to(self, dtype: str, layout: str = "nchw", scale: bool = True) -> Pipeline:
        """The form of the batch: float32 ``nchw`` in [0, 1] where this is not called.

        Args:
            dtype: ``float32``, ``bfloat16``, ``float16`` or ``uint8``.
            layout: ``nchw`` or ``nhwc``.
            scale: floats are divided by 255.
        """
        tensor = replace(
            self._spec.tensor,
            dtype=arguments.one_of("dtype", dtype, ("float32", "bfloat16", "float16", "uint8")),
            layout=arguments.one_of("layout", layout, ("nchw", "nhwc")),
            scale=arguments.flag("scale", scale) and dtype != "uint8",
        )
        return self._with(tensor=tensor)

    def seed(self, seed: int) -> Pipeline:
        """Seed of the random ops; 0 where this is not called."""
        return self._with(seed=arguments.seed("seed", seed))

    def on_error(self, action: str) -> Pipeline:
        """What a bad sample does: ``raise`` (default), ``skip`` its row, or ``replace`` it."""
        action = arguments.one_of("action", action, ("raise", "skip", "replace"))
        return self._with(on_error=action)

    def max_boxes(self, count: int) -> Pipeline:
        """Rows of a batch's box columns; a sample with more is bad. 100 where not called."""
        return self._with(max_boxes=arguments.whole("count", count, 1, _MOST_BOXES))

    def describe(self) -> dict[str, Any]:
        """The description as plain, JSON-able data, with every default written out."""
        return self._checked().to_json()

    def _checked(self) -> Spec:
        tensor, mix = self._spec.tensor, self._spec.mix
        if tensor.dtype == "uint8" and mix is not None and mix["mixup_alpha"]:
            raise PipelineError("mixup makes fractions: use .to('float32'), or cutmix alone")
        if tensor.dtype == "uint8" and tensor.mean:
            raise PipelineError(
                "normalize makes floats: use .to('float32'), .to('bfloat16') or .to('float16')"
            )
        return self._spec

    def batch(
        self,
        size: int,
        drop_last: bool = False,
        *,
        policy: Policy = "initial",
        learn: bool = False,
        cpu_budget: float | None = None,
        ram_budget: Bytes | None = None,
        settings: Mapping[str, Any] | None = None,
        weights: Literal["share", "cap"] = "share",
        cache: Literal["auto", "off"] | Bytes = "auto",
        form: str = "auto",
        placement: Placement = "cpu",
        device: str | None = None,
        device_memory: Bytes = 0,
        bad_samples_file: str | os.PathLike[str] | None = None,
        ledger_file: str | os.PathLike[str] | None = None,
    ) -> Loader:
        """The loader.

        Args:
            size: samples per batch and rank.
            drop_last: leave out a last global batch that is smaller: ``shard``'s ``drop``.
            policy: who moves the knobs: ``initial`` sets them from the machine's limits, deepens
                reading once where storage is slow, and leaves them alone; ``hill_climb`` follows
                the training step's time; ``trials`` is about worker processes, which a pipeline has
                none of; ``auto`` leaves it to DRAPPS. A mapping says more than the name: see
                "Policies" in the reference.
            learn: a learned policy goes on learning as it runs, judged: see "Learned policies".
            cpu_budget: the most cores to use; those that this process may use where absent.
            ram_budget: the most bytes the loader may own, batches that you hold apart: a number, or
                a size such as ``"2GiB"`` or ``"500MB"``.
            settings: what `Loader.export_settings` gave: start from these.
            weights: what lane weights say where the plan is split: ``share`` divides workers that
                are busy, and leaves none idle while there is work; ``cap`` gives a lane at most its
                sixteenths of the workers, rounded up.
            cache: what to keep of the records from epoch to epoch: ``auto`` keeps what storage
                makes readers wait for, in at most half of the RAM budget that batches leave; a
                number of bytes, or a size as `ram_budget`'s, is a budget for all that can be kept;
                ``off`` keeps nothing.
            form: in which form: ``auto`` and ``jpeg+index`` are the bytes of the files, and where
                decoding of the JPEG files among them can begin; ``index`` is the latter alone,
                ``bytes`` the former; ``coefficients``, ``raw``, ``raw+lz4``, ``raw+zstd``,
                ``raw+snappy`` and ``prepared`` are made of them once: see "What the cache keeps".
            placement: where JPEGs are decoded of which an earlier epoch has learned the index:
                ``cpu``; ``gpu`` offers all of them to a GPU; ``auto`` as many as make the epoch
                shorter, and none where no GPU can be used. The bytes are the same.
            device: that GPU: ``"cuda:0"`` where absent.
            device_memory: the most bytes of it that `drapps.arrays` and their batches may take,
                which live there then: see "On a GPU". 0 for none.
            bad_samples_file: gets a line of JSON per bad sample, behind what it has.
            ledger_file: deprecated, the old name of `bad_samples_file`.

        Raises:
            PipelineError: the description makes no sense as a whole; the message says which op.
        """
        from drapps import bad_samples, identity
        from drapps.loader import Loader

        whole = self._sample(batch=arguments.whole("size", size, 1, MOST_ROWS))
        if arguments.flag("drop_last", drop_last):
            whole = whole._sample(remainder="drop")
        spec = whole._checked()
        if arguments.flag("learn", learn):
            policy = identity.learning_from(policy, whole.source, spec, size)
        resources = Resources(
            policy=policy,
            cpu_budget=cpu_budget,
            ram_budget=ram_budget,
            settings=settings,
            weights=weights,
            cache=cache,
            form=form,
            placement=placement,
            device=device,
            device_memory=device_memory,
        )
        path = old_keyword("ledger_file", ledger_file, "bad_samples_file", bad_samples_file)
        return Loader(whole.source, spec, resources, bad_samples.file_at(path))
