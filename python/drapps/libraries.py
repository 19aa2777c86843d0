"""What is known of libraries whose objects and code stand among a user's, in one table.

A name is a package or a module, and stands for all within it.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Mapping


class Known(enum.Flag):
    """What may be relied on."""

    CLOSED = enum.auto()  # objects hold nothing of the user's, however much they hold
    IN_SIGHT = enum.auto()  # extension types draw from nothing but what they hold in sight
    HANDLE = enum.auto()  # objects are handles, or keep caches of what does not change
    STATELESS = enum.auto()  # functions have no state
    RECOGNISED = enum.auto()  # functions are what their names say, where nobody has replaced them


_ANY_OBJECT = Known.HANDLE | Known.STATELESS
_TABLE: Mapping[str, Known] = {
    name: known
    for known, names in (
        (Known.CLOSED | _ANY_OBJECT | Known.RECOGNISED, ("PIL",)),
        (Known.CLOSED | _ANY_OBJECT, ("cv2", "h5py", "lmdb", "polars", "pyarrow", "zarr")),
        (Known.IN_SIGHT | _ANY_OBJECT | Known.RECOGNISED, ("numpy",)),
        (Known.IN_SIGHT | _ANY_OBJECT, ("pandas", "tokenizers")),
        (Known.IN_SIGHT | Known.STATELESS | Known.RECOGNISED, ("torch", "torchvision")),
        (Known.IN_SIGHT | Known.STATELESS, ("scipy", "sklearn")),
        (_ANY_OBJECT, ("datasets", "jax", "tables", "tensorflow")),
        (_ANY_OBJECT, ("transformers.models", "transformers.tokenization")),
        (_ANY_OBJECT, ("drapps.accelerate", "drapps.item_cache.keeper")),
        (Known.STATELESS, ("drapps", "skimage", "transformers")),
        (Known.RECOGNISED, ("timm", "typing_extensions")),
        (
            Known.CLOSED,
            (
                *("numcodecs", "av", "decord", "torchcodec", "tensorstore", "netCDF4", "rasterio"),
                *("tifffile", "imagecodecs", "nanobind", "logging", "typing", "_abc", "abc"),
                *("importlib", "warnings", "re", "_frozen_importlib", "_frozen_importlib_external"),
                *("ssl", "socket", "sqlite3", "_sqlite3", "zlib", "lzma", "bz2"),
            ),
        ),
        (
            Known.IN_SIGHT,
            (
                *("torchaudio", "pydantic_core", "regex", "_regex", "yaml", "_yaml", "lxml"),
                *("msgpack", "multidict", "yarl", "frozenlist", "propcache", "aiohttp", "google"),
                *("zmq", "zstandard", "lz4", "psutil", "shapely", "pyproj", "fiona", "markupsafe"),
                *("_cffi_backend", "xxhash", "orjson"),
            ),
        ),
    )
    for name in names
}


def named(known: Known) -> frozenset[str]:
    """The names of which this is known."""
    return frozenset(name for name, all_known in _TABLE.items() if known in all_known)


@functools.lru_cache(maxsize=4096)
def is_within(module: str, known: Known) -> bool:
    """Whether a module is Python's own, or within what this is known of."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return any(f"{module}.".startswith(f"{name}.") for name in named(known))
