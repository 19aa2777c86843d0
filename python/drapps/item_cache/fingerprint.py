"""What the items of a dataset are made of, as a key: its contents, its code, its libraries.

The key does not see what lies in files, in environment variables, in global variables or behind C
extensions, nor what changes in the dataset after the key was made.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from drapps.errors import PipelineError
from drapps.item_cache.code import is_users
from drapps.item_cache.facts import BYTES, code_of, digest
from drapps.item_cache.reach import Reached
from drapps.user_code import closure_of

_MOST = 256 << 20  # bytes of a dataset's pickle


@dataclass(frozen=True)
class Fingerprint:
    """A key, in two parts.

    Attributes:
        contents: of what the dataset holds, or of what its user has called its version.
        code: of what makes the items, as this process has it.
    """

    contents: bytes
    code: bytes

    @property
    def key(self) -> bytes:
        """The key as 32 bytes."""
        return digest(self.contents, self.code)


def fingerprint(
    dataset: Any, version: str | int | None, reached: Reached | None = None
) -> Fingerprint:
    """The key of a dataset as it is now.

    Args:
        dataset: whatever gives the items.
        version: stands for what the dataset holds, which then is not looked at.
        reached: from the dataset, where that is known already.

    Raises:
        PipelineError: there is no `version`, and the dataset cannot be pickled or is too large.
    """
    code = code_of(dataset, reached)
    if version is None:
        return Fingerprint(_contents(dataset), code)
    if isinstance(version, bool) or not isinstance(version, (str, int)):
        raise PipelineError(f"version={version!r} must be a text or a whole number")
    return Fingerprint(digest(b"version", repr(version).encode()), code)


class _TooLarge(Exception):  # noqa: N818 - a verdict
    pass


class _Hash:
    """A file that keeps nothing of what is written but its hash."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=BYTES)
        self._bytes = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._bytes += view.nbytes
        if self._bytes > _MOST:
            raise _TooLarge
        self.hash.update(view)
        return view.nbytes


class _Pickler(pickle.Pickler):
    """Of the user's functions and classes it takes the names, since their code is hashed apart.

    The memory of tensors it hashes where that lies: torch would copy it into the pickle.
    """

    def __init__(self, file: _Hash) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._buffer)
        self._file = file

    def _buffer(self, buffer: pickle.PickleBuffer) -> bool:
        self._file.write(buffer.raw())
        return False

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType):
            if not is_users(value.__module__):
                return NotImplemented
            contents = (content for _, content in closure_of(value))
            held = (value.__defaults__, value.__kwdefaults__, *contents)
            return _never_made, ("function", value.__qualname__), held  # which may hold it, too
        if isinstance(value, type):
            if not is_users(value.__module__):
                return NotImplemented
            return _never_made, ("class", value.__qualname__)
        torch = sys.modules.get("torch")
        if torch is None or type(value) is not torch.Tensor:
            return NotImplemented
        if value.device.type != "cpu" or value.layout is not torch.strided or value.is_quantized:
            return NotImplemented
        plain = value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        data = plain.view(torch.uint8).numpy()
        layout = (str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad)
        return _never_made, (layout, pickle.PickleBuffer(data))


def _never_made(*_: Any) -> None:
    """Stands in a pickle that nobody reads, in the place of what makes an object."""


def _contents(dataset: Any) -> bytes:
    file = _Hash()
    advice = (
        "so a change of it would not be seen: give drapps.cached(..., version=...), a text or a "
        "number of your own that changes when its items do"
    )
    try:
        _Pickler(file).dump(dataset)
    except _TooLarge:
        raise PipelineError(
            f"the dataset has more than {_MOST >> 20} MiB when it is pickled, {advice}"
        ) from None
    except Exception as error:  # of the user's classes, too
        raise PipelineError(f"the dataset cannot be pickled ({error}), {advice}") from error
    return file.hash.digest()
