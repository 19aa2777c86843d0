"""A chain of transforms on its way to native ops.

A sample starts as a Pillow picture, becomes a tensor of bytes or floats, and may be normalised
then. Which native op reproduces a transform depends on where in the chain that stands: resizing a
tensor is other arithmetic than resizing a picture, and an erasure must come last. The native path
moves and resizes bytes, then makes numbers of them: what comes later in the chain must be the same
when it is done earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from drapps.ops import Op, random_apply, with_torch_masks
from drapps.torch.recognise import NotLifted, handed_on, name_of, short_name


class Form(Enum):
    """What a sample is at some place of the chain."""

    PICTURE = "a Pillow picture"
    BYTES = "a tensor of bytes"
    FLOATS = "a tensor of floats"


# Ops that change values alone: masks stay as they are.
_OF_VALUES = ("color_jitter", "grayscale", "random_grayscale", "random_erasing")


@dataclass
class MaskForm:
    """What the mask of a sample is at some place of the chain.

    Attributes:
        dtype: of its numbers.
        moves: v2 moves it with the picture; what ToPureTensor makes of it stays where it is.
    """

    dtype: str = "uint8"
    moves: bool = True


class Chain:
    """Collects ops and the form of the result.

    Args:
        pass_order: of the resizes, that of the installed Pillow.
        mask: what the sample's mask is at first; None where it has none.

    Attributes:
        ops: native ops so far.
        form: of the sample behind them.
        channels: of the sample behind them.
        scale: how bytes became floats: ``none``, ``divide`` (by 255) or ``multiply`` (by 1/255).
        mean, std: of the normalisation; empty before it.
        pass_order: of the resizes, that of the installed Pillow.
        numeric: the transforms that map values alone, in order: with them a ramp of all byte values
            can be run through the user's own objects.
        lifted: how the report calls what was recognised.
        pillow_resizes: whether the pass order matters.
        torch_resizes: the arithmetics in which tensors are resized.
        kind: the type of the sample, as v2's arguments by type name it.
        mask: the form of the mask, None where there is none.
    """

    def __init__(self, pass_order: str, mask: MaskForm | None = None, channels: int = 3) -> None:
        self.ops: list[Op] = []
        self.form = Form.PICTURE
        self.channels = channels
        self.scale = "none"
        self.mean: list[float] = []
        self.std: list[float] = []
        self.pass_order = pass_order
        self.numeric: list[Callable[[Any], Any]] = []
        self.lifted: list[str] = []
        self.pillow_resizes = False
        self.torch_resizes: tuple[str, ...] = ()
        self.kind = "PIL.Image.Image"
        self.mask = mask

    @classmethod
    def of_rows(cls) -> Chain:
        """No chain: rows of tensors stay as they are."""
        chain = cls("")
        chain.form = Form.BYTES
        return chain

    @property
    def erases(self) -> bool:
        """Whether something was erased."""
        return any(op["op"] == "random_erasing" for op in self.ops)

    def add(self, op: Op) -> None:
        """A transform of pictures.

        Raises:
            NotLifted: the sample is a tensor already.
        """
        if self.form is not Form.PICTURE:
            raise NotLifted(
                f"{op['op']} runs on {self.form.value} here, with PyTorch's arithmetic instead of "
                "Pillow's: put the conversion to a tensor behind it"
            )
        self._append(op)
        self.pillow_resizes |= "pass_order" in op

    def add_resize_of_bytes(self, op: Op) -> None:
        """A resize of a tensor of bytes, in an arithmetic of its own."""
        self._append(op)
        self.torch_resizes = tuple(dict.fromkeys([*self.torch_resizes, op["arithmetic"]]))

    def add_crop(self, op: Op, around: Sequence[int]) -> None:
        """A crop or a border: moves values, and puts `around` where there were none.

        Args:
            op: the op.
            around: the bytes that may come in; empty where nothing but the picture's own does.

        Raises:
            NotLifted: on floats, which the border is not made of in the native path, or behind an
                erasure.
        """
        if self.form is Form.FLOATS and any(around):
            raise NotLifted(f"{op['op']} fills a tensor of floats, with {list(around)}")
        if self.mean and around:
            raise NotLifted(f"{op['op']} may put zeros around normalised values")
        self.add_move(op)

    def add_move(self, op: Op) -> None:
        """A transform that moves values and changes none, on pictures or tensors.

        Raises:
            NotLifted: something was erased before, which the native path does last.
        """
        if self.erases:
            raise NotLifted(
                f"{op['op']} comes after RandomErasing, which the native path does last"
            )
        self._append(op)

    def add_erasing(self, op: Op) -> None:
        """RandomErasing, on tensors.

        Raises:
            NotLifted: the sample is a picture, or of bytes.
        """
        if self.form is not Form.FLOATS:
            raise NotLifted(f"RandomErasing runs on {self.form.value} here")
        self._append(op)

    def _append(self, op: Op) -> None:
        """An op, and what it does to the mask."""
        if self.mask is not None and op["op"] not in _OF_VALUES:
            if not self.mask.moves:
                raise NotLifted(
                    f"{op['op']} comes after ToPureTensor, where v2 leaves the mask as it is"
                )
            if "pass_order" in op:
                op = with_torch_masks(op)
        self.ops.append(op)

    @contextmanager
    def sometimes(self, transform: object, p: float) -> Iterator[None]:
        """Runs what is added in a ``with`` block with probability `p`, all of it or nothing.

        Args:
            transform: what is reported in the place of all that the block adds.
            p: the probability.

        Raises:
            NotLifted: samples would be one of two kinds behind it.
        """
        before, place, reported = self._kind_of_sample(), len(self.ops), len(self.lifted)
        yield
        if self._kind_of_sample() != before:
            raise NotLifted(f"{short_name(transform)} converts some samples and leaves others")
        if len(self.ops) > place:
            self.ops.insert(place, random_apply(len(self.ops) - place, p))
        self.lifted[reported:] = [described(transform)]

    def _kind_of_sample(self) -> tuple[Any, ...]:
        mask = None if self.mask is None else replace(self.mask)
        numbers = (self.scale, self.mean, len(self.numeric))
        return self.form, self.kind, self.channels, *numbers, mask

    def to_tensor(self, form: Form, scale: str, transform: Callable[[Any], Any]) -> None:
        """A conversion of a picture, or of bytes to floats.

        Raises:
            NotLifted: the values were converted before.
        """
        if self.form is Form.FLOATS or (self.form is Form.BYTES and form is Form.BYTES):
            raise NotLifted(f"{short_name(transform)} runs on {self.form.value} here")
        if self.form is Form.PICTURE:
            image = short_name(transform) == "ToImage"
            self.kind = "torchvision.tv_tensors._image.Image" if image else "torch.Tensor"
        self.form, self.scale = form, scale
        self.numeric.append(transform)

    def normalize(
        self, mean: list[float], std: list[float], transform: Callable[[Any], Any]
    ) -> None:
        """(x - mean) / std per channel, on floats.

        Raises:
            NotLifted: not on floats, a second time, or after an erasure.
        """
        if self.form is not Form.FLOATS or self.mean or self.erases:
            where = "a second time" if self.mean else f"on {self.form.value}"
            raise NotLifted(
                f"Normalize runs {'after RandomErasing' if self.erases else where} here"
            )
        self.mean, self.std = self._per_channel(mean), self._per_channel(std)
        self.numeric.append(transform)

    def _per_channel(self, values: list[float]) -> list[float]:
        if len(values) not in (1, self.channels):
            raise NotLifted(f"Normalize has {len(values)} numbers for {self.channels} channels")
        return values if len(values) == self.channels else values * self.channels


Recogniser = Callable[[Any, Chain], None]


def recognise(
    transform: object,
    chain: Chain,
    table: Mapping[str, Recogniser],
    containers: Mapping[str, Callable[[Any, Chain], Iterable[object]]],
) -> None:
    """Appends a transform, or the members of a container, to `chain`.

    An object that only calls one of its attributes is taken for what that holds.

    Raises:
        NotLifted: one of them has no native form; the sentence names it.
    """
    name = name_of(transform)
    if name in containers:
        for member in containers[name](transform, chain):
            recognise(member, chain, table, containers)
        return
    if name not in table:
        inner = handed_on(transform, 1 if chain.mask is None else 2)
        if inner is None:
            raise NotLifted(f"the transform {name} is not known")
        recognise(inner, chain, table, containers)
        return
    table[name](transform, chain)
    chain.lifted.append(described(transform))


def described(transform: object) -> str:
    """A transform as its repr says, on one line; by its name where that fails."""
    try:
        return " ".join(repr(transform).split())
    except Exception:  # of timm's ResizeKeepRatio without a range, for one
        return short_name(transform)
