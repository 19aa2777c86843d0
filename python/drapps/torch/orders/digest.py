"""Digests of indices that were yielded, by which a sampler is known to give the same order."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import torch


class Digest:
    """Sixteen hex digits of all indices that were added.

    Attributes:
        prefix: tells the kinds of digests apart.
    """

    prefix: ClassVar[str] = ""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)

    @property
    def text(self) -> str:
        """As a state holds it."""
        return self.prefix + self._hash.hexdigest()

    @abstractmethod
    def add(self, index: Any, sized: bool) -> None:
        """One more index; `sized` where it is a batch that has a length."""


class SampleDigest(Digest):
    """Of samples, however they are cut into batches."""

    prefix = "samples:"

    def add(self, index: Any, sized: bool) -> None:
        """One more index: a sample, or a batch of them."""
        self._hash.update(_samples_told(list(index) if sized else [index]))


class BatchDigest(Digest):
    """Of batches that a batch sampler of the user's gives, and of states of an earlier release."""

    def add(self, index: Any, sized: bool) -> None:
        """One more index, of any kind; of what cannot be told from others, its type.

        An iterator tells nothing: it has been consumed, or will be.
        """
        content = type(index).__qualname__.encode()
        if not isinstance(index, Iterator):
            with contextlib.suppress(Exception):  # a state matters less than the batch
                same = isinstance(index, (list, tuple)) or not sized
                content = pickle.dumps(_untensored(index if same else list(index)), protocol=4)
        self._hash.update(content)


def _samples_told(indices: list[Any]) -> bytes:
    """What tells some samples from others."""
    if not all(type(index) is int for index in indices):
        indices = _untensored(indices)
    if all(type(index) is int for index in indices):
        return "".join(f"{index}," for index in indices).encode()
    return b"".join(pickle.dumps(index, protocol=4) for index in indices)


def _untensored(index: Any) -> Any:
    """An index without tensors, whose pickles name addresses of memory."""
    if isinstance(index, torch.Tensor):
        return index.tolist()
    return type(index)(map(_untensored, index)) if type(index) in (list, tuple) else index
