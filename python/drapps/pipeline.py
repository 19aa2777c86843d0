"""The fluent description of a pipeline: what to read, what to do with it, in which order.

A `Pipeline` is immutable; each method returns another one, so that a training and a validation
pipeline may share their beginning. `Pipeline.batch` ends the description and gives the `Loader`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments, ops
from drapps.arguments import Bytes
from drapps.array_source import array_source
from drapps.deprecation import old_keyword
from drapps.errors import PipelineError
from drapps.placement import Placement
from drapps.policy import Policy
from drapps.resources import Resources
from drapps.source import EXTENSIONS, Source, file_source, folder_source, memory_source
from drapps.spec import MOST_ROWS, REMAINDERS, Decode, Spec

if TYPE_CHECKING:
    from drapps.loader import Loader
    from drapps.source import PathLike
    from drapps.storage import EmulatedStorage

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
class Pipeline:
    """What to do with the samples of a source. Start with `drapps.image_folder` or its siblings.

    Ops run in the order of their calls. Every random op draws from (seed, epoch, position), so a
    stream depends on nothing else. Arguments that make no sense raise `PipelineError` at once.
    """

    source: Source
    _spec: Spec = field(default_factory=Spec)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their labels; empty where the source has none."""
        return self.source.classes

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

    def on(self, storage: EmulatedStorage) -> Pipeline:
        """The files lie on this storage, which `drapps.emulate` makes; the samples are the same."""
        from drapps.storage import EmulatedStorage

        if not isinstance(storage, EmulatedStorage):
            raise PipelineError(f"storage={storage!r} must be what drapps.emulate() has made")
        return replace(self, source=self.source.on(storage))

    def _with(self, **changes: Any) -> Pipeline:
        return replace(self, _spec=replace(self._spec, **changes))

    def _then(self, op: ops.Op) -> Pipeline:
        before = self._spec.ops
        if op["op"] != "random_erasing" and any(o["op"] == "random_erasing" for o in before):
            raise PipelineError(f"{op['op']} cannot follow random_erasing: erase last")
        return self._with(ops=(*before, op))

    def random_resized_crop(
        self,
        size: ops.Size,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        pass_order: str = "horizontal_first",
        arithmetic: str = "pillow",
    ) -> Pipeline:
        """A random part of the picture, resized to `size` (one number or height, width)."""
        return self._then(
            ops.random_resized_crop(size, scale, ratio, interpolation, pass_order, arithmetic)
        )

    def resize(
        self,
        size: ops.Size | None,
        max_size: int | None = None,
        interpolation: str = "bilinear",
        pass_order: str = "horizontal_first",
        arithmetic: str = "pillow",
    ) -> Pipeline:
        """Resized, antialiased: one number is the shorter side, two are height and width."""
        return self._then(ops.resize(size, max_size, interpolation, pass_order, arithmetic))

    def crop(self, top: int, left: int, size: ops.Size) -> Pipeline:
        """The same rectangle of every picture; one that does not contain it is a bad sample."""
        return self._then(ops.crop(top, left, size))

    def random_resize(
        self,
        min_size: int,
        max_size: int,
        interpolation: str = "bilinear",
        pass_order: str = "horizontal_first",
        arithmetic: str = "pillow",
    ) -> Pipeline:
        """Resized so that the shorter side has a random length, below `max_size`."""
        return self._then(
            ops.random_resize(min_size, max_size, interpolation, pass_order, arithmetic)
        )

    def resize_keep_ratio(
        self,
        size: ops.Size,
        longest: float = 0.0,
        interpolation: str = "bilinear",
        pass_order: str = "horizontal_first",
        scale_p: float = 0.0,
        scale: Sequence[float] = (0.85, 1.05),
        scale_area: bool = False,
        aspect_p: float = 0.0,
        aspect: Sequence[float] = (0.9, 1.11),
    ) -> Pipeline:
        """Resized with the shape kept, or nearly, as timm's ResizeKeepRatio.

        Args:
            size: the target, one number or height and width.
            longest: 0 covers the target, 1 fits into it; what is between is between.
            interpolation: ``nearest``, ``bilinear``, ``bicubic`` or ``random``.
            pass_order: as `resize`'s.
            scale_p: probability of a factor of both sides.
            scale: its range, uniform.
            scale_area: the factor is the root of 1 over what was drawn.
            aspect_p: probability of another width over height.
            aspect: the range of its factor, log-uniform.
        """
        keeping = (interpolation, pass_order, scale_p, scale, scale_area, aspect_p, aspect)
        return self._then(ops.resize_keep_ratio(size, longest, *keeping))

    def center_crop(
        self, size: ops.Size, fill: ops.Size = 0, mode: str = "constant", mask_fill: int = 0
    ) -> Pipeline:
        """The middle of the picture, with a border around where it is smaller."""
        return self._then(ops.center_crop(size, fill, mode, mask_fill))

    def random_crop(
        self,
        size: ops.Size,
        padding: ops.Size = 0,
        pad_if_needed: bool = False,
        fill: ops.Size = 0,
        mode: str = "constant",
        mask_fill: int = 0,
    ) -> Pipeline:
        """A part of `size` at a random place, after padding."""
        return self._then(ops.random_crop(size, padding, pad_if_needed, fill, mode, mask_fill))

    def flip(self, p: float = 0.5) -> Pipeline:
        """Left and right change places with probability `p`."""
        return self._then(ops.horizontal_flip(p))

    def flip_vertical(self, p: float = 0.5) -> Pipeline:
        """Top and bottom change places with probability `p`."""
        return self._then(ops.vertical_flip(p))

    def random_apply(self, steps: Callable[[Pipeline], Pipeline], p: float = 0.5) -> Pipeline:
        """Ops that run with probability `p`, all of them or none.

        Args:
            steps: adds the ops to the pipeline that it gets, and returns it: ``lambda some:
                some.color_jitter(0.4).flip_vertical()``. They leave size and channels as they are,
                or another op behind them makes the sizes equal.
            p: the probability.

        Raises:
            PipelineError: `steps` adds no op, or changes more than the ops.
        """
        made, before = arguments.called("steps", steps)(self), self._spec.ops
        more = made._spec.ops[len(before) :] if isinstance(made, Pipeline) else ()
        if not more or made != self._with(ops=(*before, *more)):
            raise PipelineError(
                "random_apply takes a function that adds ops, and nothing else: see steps"
            )
        return self._with(ops=(*before, ops.random_apply(len(more), p), *more))

    def color_jitter(
        self,
        brightness: float | Sequence[float] = 0.0,
        contrast: float | Sequence[float] = 0.0,
        saturation: float | Sequence[float] = 0.0,
        hue: float | Sequence[float] = 0.0,
    ) -> Pipeline:
        """Brightness, contrast, saturation and hue by random factors, in random order."""
        return self._then(ops.color_jitter(brightness, contrast, saturation, hue))

    def grayscale(self, channels: int = 1) -> Pipeline:
        """The luma, once or three times."""
        return self._then(ops.grayscale(channels))

    def random_grayscale(self, p: float = 0.1) -> Pipeline:
        """The luma in as many channels as there were, with probability `p`."""
        return self._then(ops.random_grayscale(p))

    def pad(
        self, padding: ops.Size, fill: ops.Size = 0, mode: str = "constant", mask_fill: int = 0
    ) -> Pipeline:
        """A border: one width, (horizontal, vertical), or (left, top, right, bottom)."""
        return self._then(ops.pad(padding, fill, mode, mask_fill))

    def random_erasing(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        mode: str = "constant",
        value: float | Sequence[float] = 0.0,
        count: ops.Size = 1,
    ) -> Pipeline:
        """Rectangles of the finished, normalised row overwritten; `count` is one or (min, max)."""
        return self._then(ops.random_erasing(p, scale, ratio, mode, value, count))

    def mixup(self, alpha: float = 1.0, num_classes: int | None = None, p: float = 1.0) -> Pipeline:
        """Each picture of a batch blended with the one before it, as torchvision's v2.MixUp.

        Labels become float32 of (rows, num_classes): one-hot, blended alike.

        Args:
            alpha: the shares are of the beta distribution with (alpha, alpha), one draw per batch.
            num_classes: labels are below it; the source's classes where absent.
            p: share of the batches that are mixed; labels are one-hot in all.
        """
        return self._mix(num_classes, arguments.positive("alpha", alpha), 0.0, p)

    def cutmix(
        self, alpha: float = 1.0, num_classes: int | None = None, p: float = 1.0
    ) -> Pipeline:
        """A box of the picture before pasted into each one of a batch, as torchvision's v2.CutMix.

        Labels and arguments as `mixup`'s; the box's share of the picture is the other's share.
        """
        return self._mix(num_classes, 0.0, arguments.positive("alpha", alpha), p)

    def cutmix_or_mixup(
        self,
        num_classes: int | None = None,
        cutmix_alpha: float = 1.0,
        mixup_alpha: float = 1.0,
        cutmix_share: float = 0.5,
        p: float = 1.0,
    ) -> Pipeline:
        """One of both per batch, as torchvision's v2.RandomChoice([CutMix(…), MixUp(…)]).

        Args:
            num_classes: as `mixup`'s.
            cutmix_alpha: as `cutmix`'s alpha.
            mixup_alpha: as `mixup`'s alpha.
            cutmix_share: share of CutMix among the mixed batches.
            p: as `mixup`'s.
        """
        mixup_alpha = arguments.positive("mixup_alpha", mixup_alpha)
        cutmix_alpha = arguments.positive("cutmix_alpha", cutmix_alpha)
        return self._mix(num_classes, mixup_alpha, cutmix_alpha, p, cutmix_share)

    def _mix(self, num_classes: int | None, *arguments: float) -> Pipeline:
        if self._spec.mix is not None:
            raise PipelineError(
                "batches are mixed once: cutmix_or_mixup takes one of both for each"
            )
        if num_classes is None and not self.classes:
            raise PipelineError("num_classes is needed: the source has no class names to count")
        count = len(self.classes) if num_classes is None else num_classes
        return self._with(mix=ops.mix(count, *arguments))

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

    def shuffle(self, seed: int = 0) -> Pipeline:
        """Each epoch in another order, drawn from `seed`; give all ranks the same one."""
        return self._sample(shuffle=True, seed=arguments.seed("seed", seed))

    def shard(
        self, rank: int, world: int, remainder: str = "even", *, model_parallel: int = 1
    ) -> Pipeline:
        """This rank's share of every global batch; all ranks take equal steps.

        Args:
            rank: of this process, from 0.
            world: number of ranks.
            remainder: the last global batch is split unevenly (``even``), filled up with repeated,
                flagged rows (``pad``), or left out (``drop``).
            model_parallel: so many neighbouring ranks hold one model together, by tensor or
                pipeline parallelism: they get the same rows, and `world` divided by it is how many
                shares there are.
        """
        rank, world = arguments.rank_in(rank, world, model_parallel)
        remainder = arguments.one_of("remainder", remainder, REMAINDERS)
        return self._sample(rank=rank, world=world, remainder=remainder)

    def _sample(self, **changes: Any) -> Pipeline:
        return self._with(sampler=replace(self._spec.sampler, **changes))

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
