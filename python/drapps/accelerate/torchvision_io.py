"""torchvision's decoding of JPEG files to tensors of bytes, whole and at once.

Its functions read files, warn and say what is wrong themselves; the operators that they call are
answered.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from drapps import _core
from drapps.accelerate.exif import JPEG_START, orientation_in, with_orientation
from drapps.accelerate.patches import Patches
from drapps.accelerate.samples import SAMPLES
from drapps.accelerate.tally import Counts
from drapps.accelerate.watched import is_watched
from drapps.attributes import attribute_of

MODULE = "torchvision.io.image"
_OPERATORS = ("decode_jpeg", "decode_image")
_UNCHANGED, _GRAY, _RGB = 0, 1, 3  # of its ImageReadMode
_CHANNELS = {_GRAY: 1, _RGB: 3}
_MOST = 1 << 26  # pixels of which torch says whether there is memory for them
# By EXIF orientation: rows and columns are exchanged, and then these axes are flipped.
_TURNS: tuple[tuple[bool, tuple[int, ...]], ...] = (
    *((False, ()), (False, ()), (False, (-1,)), (False, (-2, -1)), (False, (-2,))),
    *((True, ()), (True, (-1,)), (True, (-2, -1)), (True, (-2,))),
)


def patch(counts: Counts, patches: Patches) -> None:
    """Has torchvision's operators decode natively where that gives the same, if they are there."""
    import torch

    operators = torch.ops.image
    kind = attribute_of(torch, "_ops").OpOverloadPacket
    for name in _OPERATORS:
        plain = getattr(operators, name, None)
        if type(plain) is kind:
            answer = patches.gated(_Decoding(plain, counts), plain)
            patches.put(operators, name, _operator(plain, answer))


def _operator(plain: Any, answer: Callable[..., Any]) -> Any:
    """An operator like the plain one, as torch's compilers see it, that is called otherwise."""
    kind: Any = type(plain)

    class Operator(kind):  # type: ignore[misc]
        def __call__(self, *args: Any, **options: Any) -> Any:
            return answer(*args, **options)

    for name in plain.overloads():
        getattr(plain, name)  # which is made once, and then among its attributes
    operator = kind.__new__(Operator)
    vars(operator).update(vars(plain))
    return operator


class _Decoding:
    """What stands in the place of an operator."""

    def __init__(self, plain: Any, counts: Counts) -> None:
        self._plain, self._counts = plain, counts
        self._holds: bool | None = None  # whether it makes the same, once that is known

    def __call__(self, *args: Any, **options: Any) -> Any:
        picture = None
        if not options and 2 <= len(args) <= 3 and _are_known(*args):
            picture = self._native(*args)
        return self._plain(*args, **options) if picture is None else picture

    def _native(self, data: Any, mode: int, upright: bool = False) -> Any:
        """The picture; None for what is left to torchvision."""
        try:
            file = memoryview(data.numpy())
        except (RuntimeError, TypeError):  # no memory of its own that others may read
            return None
        if file[: len(JPEG_START)] != JPEG_START or not self._is_same():
            return None
        picture = _picture(file.tobytes(), mode, upright)
        self._counts.add("by_torchvision" if picture is None else "native")
        return picture

    def _is_same(self) -> bool:
        """Whether torchvision and we make the same of some pictures."""
        if self._holds is None:
            stored = [base64.b64decode(sample) for sample in SAMPLES]
            turned = [with_orientation(stored[0], turn) for turn in range(2, 9)]
            asked = [(file, mode, False) for file in stored for mode in (_UNCHANGED, _GRAY, _RGB)]
            asked += [(file, _UNCHANGED, True) for file in turned]
            try:
                self._holds = all(_alike(self._plain, *each) for each in asked)
            except Exception:  # of a torchvision that is another altogether
                self._holds = False
            if not self._holds:
                self._counts.note("torchvision_differs")
        return self._holds


def _are_known(data: Any, mode: Any, upright: Any = False) -> bool:
    """Whether it is a file in a tensor of bytes, and how it is read is known."""
    import torch

    return (
        type(data) is torch.Tensor
        and data.dtype is torch.uint8
        and data.device.type == "cpu"
        and data.ndim == 1
        and data.is_contiguous()
        and type(mode) is int
        and mode in (_UNCHANGED, _GRAY, _RGB)
        and type(upright) is bool
        and not is_watched()
    )


def _picture(data: bytes, mode: int, upright: bool) -> Any:
    """A picture of (channels, height, width), whose pixels are interleaved; None for a rare one."""
    import torch

    pixels = _core.Pixels.judged(data)  # without an index: all of it is decoded
    turn = orientation_in(data, alone=True) if upright else 1
    if pixels is None or turn is None or pixels.height * pixels.width > _MOST:
        return None
    channels = _CHANNELS.get(mode, pixels.channels)
    tensor = torch.empty((pixels.height, pixels.width, channels), dtype=torch.uint8, device="cpu")
    whole, luma = (0, 0, pixels.height, pixels.width), channels < pixels.channels
    pixels.to_bytes(whole, 1, False, channels, tensor.view(-1).numpy(), False, luma)
    picture, (swaps, flips) = tensor.permute(2, 0, 1), _TURNS[turn]
    picture = picture.transpose(-1, -2) if swaps else picture
    return picture.flip(flips) if flips else picture


def _alike(plain: Any, file: bytes, mode: int, upright: bool) -> bool:
    import torch

    theirs = plain(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode, upright)
    mine = _picture(file, mode, upright)
    return bool(
        torch.equal(theirs, mine)
        and theirs.stride() == mine.stride()
        and (theirs._base is None) == (mine._base is None)
    )
