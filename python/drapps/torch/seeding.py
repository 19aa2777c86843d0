"""Which random numbers a worker process draws: those of a sample's place, or those of stock.

Before each sample the global states of Python, NumPy and torch are set from (seed, epoch,
position), so that what a dataset draws does not depend on which process makes the sample, nor on
what that process made before. A state of the Mersenne Twister is filled from a 64-bit key of that
coordinate (`_core.seed_torch_state`). Of streams, and in ``torch_order``, each virtual worker has
the one stream of numbers that a stock worker has.
"""

from __future__ import annotations

import _random
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.random  # loaded when it is used first, which would be once in each process
import torch

from drapps import _core
from drapps.torch.drawn import Drawn, packed_states

_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1
_APART = 0x9E3779B97F4A7C15  # an odd multiple of it keeps the keys of different ranks apart
_NO_POSITION = (1 << 64) - 1  # of a batch


@dataclass
class SampleSeeds:
    """Reseeds a process before each sample.

    Attributes:
        seed: 64 bits, of the pass, with the rank folded in.
        base_seed: ``torch.initial_seed()`` stays this plus the virtual worker's id.
    """

    seed: int
    base_seed: int
    _initial: dict[int, int] = field(default_factory=dict)
    _state: Any = None
    _bytes: Any = None

    def keep_initial_seed(self, worker: int, seed: int) -> None:
        """``torch.initial_seed()`` of a virtual worker whose ``worker_init_fn`` has set it."""
        self._initial[worker] = seed

    def sample(self, worker: int, epoch: int, position: int) -> None:
        """Sets the states of the sample at `position`."""
        self._set(worker, epoch, position, _core.ORDINAL_SAMPLE)

    def batch(self, worker: int, epoch: int, position: int) -> None:
        """Sets the states in which the batch that begins at `position` is made or collated."""
        self._set(worker, epoch, position, _core.ORDINAL_BATCH)

    def _set(self, worker: int, epoch: int, position: int, ordinal: int) -> None:
        if self._state is None:
            self._bytes = np.zeros(len(torch.default_generator.get_state()), np.uint8)
            self._state = torch.from_numpy(self._bytes)
        initial = self._initial.get(worker, self.base_seed + worker) & _MASK_64
        key = _core.seed_torch_state(self._bytes, self.seed, epoch, position, ordinal, initial)
        torch.default_generator.set_state(self._state)
        python: Any = random._inst
        _random.Random.seed(python, key)
        python.gauss_next = None
        np.random.seed(key & _MASK_32)

    def start(self) -> None:
        """The process is prepared."""

    def drawn(self) -> dict[str, bytes]:
        """Nothing: no state that matters has changed."""
        return {}

    def begin_pass(self) -> dict[str, bytes]:
        """As `drawn`."""
        return {}

    def joined(self) -> SampleSeeds:
        """The seeds of a virtual worker that comes from another process."""
        return self


class StockNumbers:
    """Leaves a virtual worker its stock stream of numbers, and tells where that has come to."""

    def __init__(self) -> None:
        self._at_start: dict[str, bytes] = {}
        self._drawn = Drawn()

    def keep_initial_seed(self, worker: int, seed: int) -> None:
        """Nothing: the initial seed is not changed again."""

    def sample(self, worker: int, epoch: int, position: int) -> None:
        """Goes on behind the sample before."""

    def batch(self, worker: int, epoch: int, position: int) -> None:
        """Goes on behind the batch before."""

    def start(self) -> None:
        """The process is prepared: the states are those that every process of its kind has."""
        self._at_start = packed_states()
        self._drawn = Drawn(self._at_start)

    def drawn(self) -> dict[str, bytes]:
        """Of the packed states those that are others than when this was asked before."""
        return self._drawn.since()

    def begin_pass(self) -> dict[str, bytes]:
        """Of the packed states those that are others than at the start of the process."""
        self._drawn = Drawn(self._at_start)  # what was made for nobody has changed them, too
        return self._drawn.since()

    def joined(self) -> StockNumbers:
        """The numbers of a virtual worker that comes from another process."""
        return StockNumbers()


def base_seed_of(seed: int, rank: int, epoch: int) -> int:
    """What a seed of the user's puts in the place of the base seed that torch would draw.

    Args:
        seed: that was given.
        rank: whose workers are to draw apart from those of others.
        epoch: its number.
    """
    unused = np.zeros(len(torch.default_generator.get_state()), np.uint8)
    place = (epoch, _NO_POSITION, _core.ORDINAL_BATCH)
    return _core.seed_torch_state(unused, key_of(seed, rank), *place, 0) >> 1


def key_of(seed: int, rank: int) -> int:
    """The 64 bits of the samples' random numbers, so that ranks with one seed draw apart."""
    return (seed + rank * _APART) & _MASK_64


def random_states() -> tuple[Any, Any, Any]:
    """The global states of Python, NumPy and torch."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def set_random_states(states: tuple[Any, Any, Any]) -> None:
    """Sets what `random_states` gave."""
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
