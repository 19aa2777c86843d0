"""Batches by size: as many samples of about one length as fit a number of tokens or pixels.

1. A few sizes are declared. Each sample is padded to the smallest declared one that holds it, and a
   batch of size s has ``max_tokens // s`` rows. So there are no more shapes than declared sizes.
   They are those that leave the least padding: an optimal quantisation, by dynamic programming
   (J. D. Bruce, "Optimum quantization", MIT, 1965).
2. An epoch is a random order of all samples. Each goes to the batch that is open for its declared
   size, and a batch takes its place in the epoch when it is full.
3. What is left open at the end is put together, the largest first, so that at most one batch of the
   epoch is not full. How many batches there are depends on the sizes alone, so ``len`` is exact.
4. Step k of rank r is batch ``k * world + r`` of the epoch: the same batches at any world size, up
   to the last step or two. A position counts rows in this order, so it means the same to any world.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drapps import arguments, state
from drapps.arguments import one_of, whole
from drapps.epochs import Epochs
from drapps.errors import PipelineError

if TYPE_CHECKING:
    Whole = npt.NDArray[np.int64]

KIND = "budget_sampler"  # in saved states: it stays
_CANDIDATES = 512


class BucketBatchSampler:
    """A ``batch_sampler`` whose batches stay within `max_tokens` when padded.

    Give it to a torch ``DataLoader``; the collate function pads to `declared` of the samples.

        sampler = drapps.BucketBatchSampler(lengths, max_tokens=8192, shapes=8)
        loader = torch.utils.data.DataLoader(dataset, batch_sampler=sampler, collate_fn=pad)

    Each ``iter()`` is the next epoch; `set_epoch` pins one. The order of an epoch depends on the
    sizes, the options and the seed, never on the world size.

    Args:
        sizes: of the samples, whole numbers from 1: tokens, pixels, frames.
        max_tokens: the most that rows times declared size of a batch may be.
        shapes: the most sizes that are declared. 48 leave less than 5 % of padding on log-normal
            lengths; a compiler that treats each shape anew may want fewer.
        multiple: declared sizes are multiples of it where `max_tokens` allows, as hardware may
            like.
        shuffle: False takes the samples in their order.
        seed: of the order.
        rank: this process.
        world: how many processes there are. All take equally many steps.
        remainder: what becomes of the last step where the batches do not divide among the ranks, or
            one is not full: ``even`` shares their rows among the ranks, ``pad`` repeats samples and
            batches (`padded` tells which), ``drop`` leaves them out.

    Raises:
        PipelineError: an option out of its range, a sample larger than `max_tokens`, or fewer rows
            in the last step than ranks to share them.
    """

    def __init__(
        self,
        sizes: Sequence[int] | npt.NDArray[Any],
        max_tokens: int,
        shapes: int = 48,
        *,
        multiple: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        remainder: str = "even",
    ) -> None:
        self.max_tokens = whole("max_tokens", max_tokens, 1, 2**62)
        self.shuffle = arguments.flag("shuffle", shuffle)
        self.seed = arguments.seed("seed", seed)
        self.world = whole("world", world, 1)
        self.rank = whole("rank", rank, 0)
        if self.rank >= self.world:
            raise PipelineError(f"rank is {rank} and world {world}: ranks count from 0")
        self.remainder = one_of("remainder", remainder, ("even", "pad", "drop"))
        self._sizes = _checked(sizes, self.max_tokens)
        step = whole("multiple", multiple, 1, 2**31)
        rounded = np.minimum(-(-self._sizes // step) * step, self.max_tokens)
        self._declared = _declare(rounded, whole("shapes", shapes, 1))
        self._rows = self.max_tokens // self._declared
        self._kind = np.searchsorted(self._declared, self._sizes)
        counts = np.bincount(self._kind, minlength=len(self._rows))
        self._recipes, self._short = _merge_recipes(counts % self._rows, self._rows)
        whole_ones = int((counts // self._rows).sum()) + len(self._recipes)
        rounds_up = 0 if self.remainder == "drop" else self.world - 1 + bool(self._short)
        self._length = (whole_ones + rounds_up) // self.world
        self._epochs = Epochs()
        self._ends: list[tuple[int, int]] = [(0, 0)]  # epoch and position behind each step
        self._steps = 0  # that the latest iterator has handed out
        if self.remainder == "even":
            self._plan(0, 0)  # raises where the rows of the last step are too few

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Rows and size of each kind of batch, smallest size first."""
        return [(int(r), int(s)) for r, s in zip(self._rows, self._declared, strict=True)]

    @property
    def padding(self) -> float:
        """Share of the padded sizes of all samples that is padding."""
        return 1.0 - float(self._sizes.sum()) / float(self._declared[self._kind].sum())

    def declared(self, indices: Sequence[int]) -> int:
        """The size that a batch of these samples is padded to."""
        return int(self._declared[self._kind[np.asarray(indices, np.int64)].max()])

    def __len__(self) -> int:
        """Steps of an epoch, the same on every rank."""
        return self._length

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is of this epoch."""
        self._epochs.pin(epoch)

    def __iter__(self) -> Iterator[list[int]]:
        epoch, position = self._epochs.take()
        batches, repeats = self._plan(epoch, position)
        rows = np.array([len(batch) for batch in batches], np.int64) - repeats
        ends = position + np.cumsum(rows.reshape(-1, self.world).sum(axis=1))
        # Where each step ends, the last one at the beginning of the next epoch.
        self._ends = [(epoch, position), *((epoch, int(end)) for end in ends[:-1]), (epoch + 1, 0)]
        for step in range(len(ends)):
            self._steps = step + 1
            yield batches[step * self.world + self.rank].tolist()

    def padded(self, epoch: int, step: int) -> npt.NDArray[np.bool_]:
        """Which rows of this rank's batch are repeats that ``remainder="pad"`` added."""
        batches, repeats = self._plan(whole("epoch", epoch, 0), 0)
        at = whole("step", step, 0) * self.world + self.rank
        return np.arange(len(batches[at])) >= len(batches[at]) - repeats[at]

    def state_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Where to go on: a JSON-able state.

        Args:
            steps: of the latest iterator that were trained on. A loader that reads ahead has taken
                more batches than it yielded; without `steps` those taken count.
        """
        taken = self._steps if steps is None else min(whole("steps", steps, 0), self._steps)
        return state.make(KIND, *self._ends[taken], self._identity())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made, also at another world size.

        Raises:
            PipelineError: no such state, or one of other sizes or options.
        """
        epoch, position = state.check(state_dict, KIND, self._identity())
        self._epochs.resume(epoch, position)
        self._ends, self._steps = [(epoch, position)], 0

    def _identity(self) -> dict[str, Any]:
        return {
            "sizes": zlib.crc32(self._sizes.tobytes()),
            "max_tokens": self.max_tokens,
            "shapes": [int(size) for size in self._declared],
            "shuffle": self.shuffle,
            "seed": self.seed,
        }

    def _plan(self, epoch: int, position: int) -> tuple[list[Whole], list[int]]:
        """Batches of all ranks from row `position` on, and how many rows of each are repeats."""
        batches, leftovers = self._fill(self._order(epoch))
        batches += [_gather(leftovers, recipe) for recipe in self._recipes]
        short = [_gather(leftovers, self._short)] if self._short else []
        if batches:
            # Rows to share in the last step; the same batch at any world size.
            batches.append(batches.pop(int(np.argmax([len(batch) for batch in batches]))))
        batches, short = _from(position, batches), _from(position - sum(map(len, batches)), short)
        if self.remainder == "drop":
            del batches[len(batches) // self.world * self.world :]
            return batches, [0] * len(batches)
        if self.remainder == "pad":
            return self._pad(batches, short)
        return self._share(batches, short)

    def _order(self, epoch: int) -> Whole:
        if not self.shuffle:
            return np.arange(len(self._sizes))
        # Raw words, since only those are the same in every version of NumPy.
        words = np.random.Philox(key=np.array([self.seed, epoch], np.uint64))
        return np.argsort(words.random_raw(len(self._sizes)), kind="stable")

    def _fill(self, order: Whole) -> tuple[list[Whole], list[Whole]]:
        """Full batches in the order in which they fill up, and what is left of each kind."""
        kinds = self._kind[order]
        places = [np.flatnonzero(kinds == kind) for kind in range(len(self._rows))]
        full = [
            batch
            for where, rows in zip(places, self._rows, strict=True)
            for batch in where[: len(where) // rows * rows].reshape(-1, rows)
        ]
        full.sort(key=lambda batch: int(batch[-1]))
        left = [
            order[where[len(where) // rows * rows :]]
            for where, rows in zip(places, self._rows, strict=True)
        ]
        return [order[batch] for batch in full], left

    def _pad(self, batches: list[Whole], short: list[Whole]) -> tuple[list[Whole], list[int]]:
        repeats = [0] * len(batches)
        for batch in short:
            rows = int(self._rows[self._kind[batch].max()])
            batches.append(np.resize(batch, rows))
            repeats.append(rows - len(batch))
        for i in range(-len(batches) % self.world):
            batches.append(batches[i])
            repeats.append(len(batches[i]))
        return batches, repeats

    def _share(self, batches: list[Whole], short: list[Whole]) -> tuple[list[Whole], list[int]]:
        """Makes the last step, or the last two, of the rows that there are, in their order."""
        steps, cut = 1, len(batches) // self.world * self.world
        if cut > 0 and 0 < sum(map(len, batches[cut:] + short)) < self.world:
            steps, cut = 2, cut - self.world
        tail = batches[cut:] + short
        while 0 < len(tail) < steps * self.world:
            at = int(np.argmax([len(batch) for batch in tail]))
            largest = tail[at]
            if len(largest) == 1:
                raise PipelineError(
                    f"the last batches have fewer rows than {self.world} ranks need; "
                    'take remainder="pad" or "drop"'
                )
            tail[at : at + 1] = [largest[: len(largest) // 2], largest[len(largest) // 2 :]]
        return batches[:cut] + tail, [0] * (cut + len(tail))


def _from(position: int, batches: list[Whole]) -> list[Whole]:
    """What is left of batches behind their first `position` rows."""
    left = []
    for batch in batches:
        if position < len(batch):
            left.append(batch[max(position, 0) :])
        position -= len(batch)
    return left


def _checked(sizes: Sequence[int] | npt.NDArray[Any], most: int) -> Whole:
    array = np.asarray(sizes)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise PipelineError("sizes must be a list of whole numbers, one per sample")
    array = array.astype(np.int64)
    for worst, problem in (
        (int(np.argmin(array)), "sizes count from 1"),
        (int(np.argmax(array)), f"max_tokens is {most}: raise it, or leave out or cut the sample"),
    ):
        if not 1 <= array[worst] <= most:
            raise PipelineError(f"sample {worst} has size {array[worst]}, and {problem}")
    return array


def _declare(sizes: Whole, shapes: int) -> Whole:
    """At most `shapes` sizes, ascending: those with the least padding."""
    unique, counts = np.unique(sizes, return_counts=True)
    if len(unique) > _CANDIDATES:
        # Equal shares of all that is to be padded; the largest must stay.
        mass = np.cumsum(unique * counts)
        at = np.searchsorted(mass, mass[-1] * np.arange(1, _CANDIDATES + 1) / _CANDIDATES)
        ends = np.unique(np.minimum(at, len(unique) - 1))
        counts = np.diff(np.cumsum(counts)[ends], prepend=0)
        unique = unique[ends]
    below = np.concatenate([[0], np.cumsum(counts)])
    # cost[j]: padded sizes of all samples up to candidate j - 1, with the sizes declared so far.
    cost = np.where(np.arange(len(unique) + 1) == 0, 0.0, np.inf)
    choices = []
    for _ in range(min(shapes, len(unique))):
        grid = cost[:-1, None] + unique[None, :] * (below[None, 1:] - below[:-1, None])
        grid[np.tril_indices(len(unique), -1)] = np.inf
        choice = grid.argmin(axis=0)
        cost = np.concatenate([[np.inf], grid[choice, np.arange(len(unique))]])
        choices.append(choice)
    declared = []
    end = len(unique) - 1
    for choice in reversed(choices):
        declared.append(int(unique[end]))
        end = int(choice[end]) - 1
        if end < 0:
            break
    return np.array(declared[::-1], np.int64)


Recipe = list[tuple[int, slice]]


def _merge_recipes(left: Whole, rows: Whole) -> tuple[list[Recipe], Recipe]:
    """How leftovers of each kind make batches: full ones, and one that is not, or nothing."""
    merged: list[Recipe] = []
    opened: Recipe = []
    room = 0
    for kind in range(len(rows) - 1, -1, -1):
        count = int(left[kind])
        taken = min(room, count)
        if taken:
            opened.append((kind, slice(0, taken)))
            room -= taken
        if opened and room == 0:
            merged.append(opened)
            opened = []
        if count > taken:
            opened = [(kind, slice(taken, count))]
            room = int(rows[kind]) - (count - taken)
    return merged, opened


def _gather(leftovers: list[Whole], recipe: Recipe) -> Whole:
    return np.concatenate([leftovers[kind][part] for kind, part in recipe])
