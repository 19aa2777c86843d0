"""The methods of a pipeline that add an op: what is done to each picture, and to each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drapps import arguments, ops
from drapps.errors import PipelineError
from drapps.sampled import Described
from drapps.source import Source
from drapps.spec import Spec

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class PictureOps(Described):
    """A source, and what is done with its samples: the base of `drapps.Pipeline`."""

    source: Source
    _spec: Spec = field(default_factory=Spec)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their labels; empty where the source has none."""
        return self.source.classes

    def _then(self, op: ops.Op) -> Self:
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
    ) -> Self:
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
    ) -> Self:
        """Resized, antialiased: one number is the shorter side, two are height and width."""
        return self._then(ops.resize(size, max_size, interpolation, pass_order, arithmetic))

    def crop(self, top: int, left: int, size: ops.Size) -> Self:
        """The same rectangle of every picture; one that does not contain it is a bad sample."""
        return self._then(ops.crop(top, left, size))

    def random_resize(
        self,
        min_size: int,
        max_size: int,
        interpolation: str = "bilinear",
        pass_order: str = "horizontal_first",
        arithmetic: str = "pillow",
    ) -> Self:
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
    ) -> Self:
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
    ) -> Self:
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
    ) -> Self:
        """A part of `size` at a random place, after padding."""
        return self._then(ops.random_crop(size, padding, pad_if_needed, fill, mode, mask_fill))

    def flip(self, p: float = 0.5) -> Self:
        """Left and right change places with probability `p`."""
        return self._then(ops.horizontal_flip(p))

    def flip_vertical(self, p: float = 0.5) -> Self:
        """Top and bottom change places with probability `p`."""
        return self._then(ops.vertical_flip(p))

    def random_apply(self, steps: Callable[[Self], Self], p: float = 0.5) -> Self:
        """Ops that run with probability `p`, all of them or none.

        Args:
            steps: adds the ops to the pipeline that it gets, and returns it: ``lambda some:
                some.color_jitter(0.4).flip_vertical()``. They leave size and channels as they are,
                or another op behind them makes the sizes equal.
            p: the probability.

        Raises:
            PipelineError: `steps` adds no op, or changes more than the ops.
        """
        pipeline, before = arguments.called("steps", steps)(self), self._spec.ops
        more = pipeline._spec.ops[len(before) :] if isinstance(pipeline, PictureOps) else ()
        if not more or pipeline != self._with(ops=(*before, *more)):
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
    ) -> Self:
        """Brightness, contrast, saturation and hue by random factors, in random order."""
        return self._then(ops.color_jitter(brightness, contrast, saturation, hue))

    def grayscale(self, channels: int = 1) -> Self:
        """The luma, once or three times."""
        return self._then(ops.grayscale(channels))

    def random_grayscale(self, p: float = 0.1) -> Self:
        """The luma in as many channels as there were, with probability `p`."""
        return self._then(ops.random_grayscale(p))

    def pad(
        self, padding: ops.Size, fill: ops.Size = 0, mode: str = "constant", mask_fill: int = 0
    ) -> Self:
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
    ) -> Self:
        """Rectangles of the finished, normalised row overwritten; `count` is one or (min, max)."""
        return self._then(ops.random_erasing(p, scale, ratio, mode, value, count))

    def mixup(self, alpha: float = 1.0, num_classes: int | None = None, p: float = 1.0) -> Self:
        """Each picture of a batch blended with the one before it, as torchvision's v2.MixUp.

        Labels become float32 of (rows, num_classes): one-hot, blended alike.

        Args:
            alpha: the shares are of the beta distribution with (alpha, alpha), one draw per batch.
            num_classes: labels are below it; the source's classes where absent.
            p: share of the batches that are mixed; labels are one-hot in all.
        """
        return self._mix(num_classes, arguments.positive("alpha", alpha), 0.0, p)

    def cutmix(self, alpha: float = 1.0, num_classes: int | None = None, p: float = 1.0) -> Self:
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
    ) -> Self:
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

    def _mix(self, num_classes: int | None, *arguments: float) -> Self:
        if self._spec.mix is not None:
            raise PipelineError(
                "batches are mixed once: cutmix_or_mixup takes one of both for each"
            )
        if num_classes is None and not self.classes:
            raise PipelineError("num_classes is needed: the source has no class names to count")
        count = len(self.classes) if num_classes is None else num_classes
        return self._with(mix=ops.mix(count, *arguments))
