"""Pictures for scenarios, made once by a stated rule and kept in the user's cache folder.

<cache>/drapps/pictures/<width>x<height>x<count>-<version>/class_<label>/<number>.jpg
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from drapps.errors import PipelineError

_VERSION = 1
_CLASSES = 8
_QUALITY = 90
_NOISE = 12  # most that a pixel differs from the smooth picture


def cache() -> Path:
    """The folder that keeps them."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "drapps" / "pictures"


def ensure(
    width: int, height: int, count: int, progress: Callable[[int, int], None] = lambda *_: None
) -> Path:
    """A folder with so many pictures of this size, a folder per class in it.

    It lies in ``drapps/pictures`` of the user's cache folder, is made if it is not there, and
    appears when it is complete. Picture i is a grid of 6 by 5 random colours, enlarged by bicubic
    interpolation, with noise of at most 12 on all channels of a pixel alike, and stored as a JPEG
    of quality 90, 4:2:0. Colours and noise come from NumPy's default generator with the seed i.

    Args:
        width: in pixels.
        height: in pixels.
        count: of pictures.
        progress: is told how many of how many are made.

    Raises:
        PipelineError: the folder is there, and holds something else.
        OSError: it cannot be written.
    """
    root = cache() / f"{width}x{height}x{count}-{_VERSION}"
    if not root.exists():
        _make(root, width, height, count, progress)
    total = sum(1 for _ in root.glob("*/*.jpg"))
    if total != count:
        raise PipelineError(f"{root} holds {total} pictures, not {count}: remove it, or move it")
    return root


def _make(
    root: Path, width: int, height: int, count: int, progress: Callable[[int, int], None]
) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{root.name}.", dir=root.parent))
    try:
        for number in range(count):
            folder = part / f"class_{number % _CLASSES}"
            folder.mkdir(exist_ok=True)
            (folder / f"{number:05}.jpg").write_bytes(encoded(number, width, height))
            progress(number + 1, count)
        try:
            part.rename(root)
        except OSError:  # another process was faster
            if not root.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def hold(root: Path, held: bool) -> None:
    """Has the pictures lie in the machine's page cache, or no longer lie there."""
    for file in root.glob("*/*.jpg"):
        with file.open("rb") as opened:
            if held:
                opened.read()
            else:
                os.fdatasync(opened.fileno())  # what is not on the disk yet stays
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def encoded(seed: int, width: int, height: int) -> bytes:
    """One picture, as a JPEG file."""
    import io

    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(seed)
    coarse = draw.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    noise = draw.integers(-_NOISE, _NOISE + 1, (height, width, 1), dtype=np.int16)
    smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    pixels = np.clip(np.asarray(smooth).astype(np.int16) + noise, 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=_QUALITY, subsampling="4:2:0")
    return out.getvalue()
