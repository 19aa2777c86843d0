"""What decides how Pillow reads pictures: its formats, its limits and its switches."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from drapps.torch.own import WALK, is_own
from drapps.torch.recognise import NotLifted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NOTE = "files of other formats than JPEG, PNG and WebP are read by Pillow, in the worker"
_FORMATS = ("JPEG", "PNG", "WEBP")
_DECODERS = ("jpeg", "zip", "raw", "webp")
# The values that the core keeps to, too. Each may be set at any time, and Pillow looks when it
# reads a picture.
_SWITCHES: dict[str, dict[str, Any]] = {
    "PIL.Image": {"MAX_IMAGE_PIXELS": 1024 * 1024 * 1024 // 4 // 3},
    "PIL.ImageFile": {"LOAD_TRUNCATED_IMAGES": False},
    "PIL.PngImagePlugin": {"MAX_TEXT_CHUNK": 1 << 20, "MAX_TEXT_MEMORY": 64 << 20},
}


def require_plain_pictures() -> None:
    """Makes sure that pictures are read and cropped as an untouched Pillow would.

    Raises:
        NotLifted: a limit or a switch is set, or another reader is registered.
    """
    for home, switches in _SWITCHES.items():
        module = sys.modules.get(home)
        for name, plain in switches.items():
            value = getattr(module, name, plain)
            if value != plain:
                raise NotLifted(f"{home}.{name} is {value!r}")
    image: Any = sys.modules.get("PIL.Image")
    if image is None:
        return
    for action, _, category, _, _ in warnings.filters:
        if action == "error" and category is image.DecompressionBombWarning:
            raise NotLifted("Pillow's DecompressionBombWarning is made an error")
    for name in _FORMATS:
        factory, accept = image.OPEN.get(name, (None, None))
        if not all(part is None or is_own(part) for part in (factory, accept)):
            raise NotLifted(f"Pillow opens {name} by a function that is not its own")
        replaced = WALK.replaced(part for part in (factory, accept) if part is not None)
        if replaced is not None:
            raise NotLifted(f"{replaced} was replaced")
    for name in _DECODERS:
        if not is_own(image.DECODERS.get(name)):
            raise NotLifted(f"Pillow decodes {name} by a class that is not its own")


def warn_of_large(pictures: Sequence[int]) -> None:
    """Has Pillow warn of pictures of so many pixels, as it does where it opens them itself."""
    if pictures:
        from PIL import Image

        for pixels in pictures:
            Image._decompression_bomb_check((pixels, 1))


def read_foreign(data: bytes) -> npt.NDArray[np.uint8] | str:
    """A picture of any format that Pillow opens, as torchvision's loader gives it.

    Returns:
        Pixels of shape (height, width, 3), or what Pillow says where it cannot read them.
    """
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(image.convert("RGB"))
    except UnidentifiedImageError:
        return "Pillow does not know it as a picture"
    except Exception as error:  # Pillow raises half a dozen kinds
        return f"Pillow: {type(error).__name__}: {error}"
