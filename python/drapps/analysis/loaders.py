"""Loaders as they are measured: as they are, and over a part of their data with so many cores."""

from __future__ import annotations

import contextlib
import itertools
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.errors import PipelineError
from drapps.watching.machine import busy_s
from drapps.watching.machine import cores as cores_here

_FEW = 8  # batches
_SCARCE = 0.9
_OPTIONS = (
    "collate_fn",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "pin_memory_device",
    "in_order",
)


@dataclass(frozen=True)
class Drained:
    """How fast a loader was with nobody to wait for.

    Attributes:
        cores: that prepared.
        samples: that it gave in `seconds`.
        seconds: behind the first batches, in which workers start.
        core_share: share of the whole time in which the cores were used, 0 to 1; 1 where all of the
            machine's were, by whomever.
        batches: that it gave in all.
        foreign: cores that other programs used meanwhile.
        used: cores that it used itself, of the whole time.
    """

    cores: float
    samples: int
    seconds: float
    core_share: float
    batches: int
    foreign: float
    used: float


@dataclass(frozen=True)
class Kept:
    """What a loader keeps in memory by itself.

    Attributes:
        samples: that it has.
        bytes: of them.
        budget: bytes that they may have.
        hits: samples that it had when they were asked for, since it was made.
    """

    samples: int
    bytes: int
    budget: int
    hits: int

    @classmethod
    def of(cls, loader: Any) -> Kept | None:
        """What a native loader of this package keeps; None where it keeps nothing."""
        forms = loader.explain().forms
        cache = forms.get("cache")
        if cache is None:
            return None
        other = ("cache", "jpeg_index")
        samples = max(
            (each["samples"] for name, each in forms.items() if name not in other), default=0
        )
        return cls(samples, cache["bytes"], cache["budget"], cache["hits"])


class AnyLoader:
    """Anything that can be iterated: always from its beginning, and as it is.

    Attributes:
        about: what is told of it.
        workers: processes that load; 0: the training process does, or it is not known.
        depth: batches that may be ready ahead.
        samples: of its dataset; 0 where that is not known.
        cores: that prepare samples: as many as workers, whether the machine has them or not.
        choices: numbers of cores with which it can be drained.
        in_turn: whether it loads between the steps of the training; None where that is not known.
        keeps: whether it keeps samples in memory itself, so that later passes fetch nothing.
        fresh: whether `drain` takes nothing of what is kept so: loaders are made that keep nothing.
        iterate: gives an iterator of the loader as it is.
    """

    def __init__(self, loader: Iterable[Any], depth: int = 1) -> None:
        self.loader: Any = loader
        self.about: dict[str, Any] = {"kind": "iterable", "class": type(loader).__qualname__}
        self.workers, self.depth, self.samples, self.cores = 0, depth, 0, 1.0
        self.choices: Sequence[float] = (1.0,)
        self.in_turn: bool | None = None
        self.keeps = self.fresh = False
        self.iterate: Callable[[Any], Iterator[Any]] = iter

    def passes(self) -> Iterator[Iterator[Any]]:
        """Passes over the loader as it is.

        Raises:
            PipelineError: it gives nothing, or nothing more.
        """
        for number in itertools.count():
            taken = self.iterate(self.loader)
            first = list(itertools.islice(taken, 1))
            if not first:
                again = "more, so it cannot be iterated twice" if number else "at all"
                raise PipelineError(f"{self.about['class']} gives no batches {again}")
            yield itertools.chain(first, taken)

    def draw(self, batches: int) -> None:
        """Chooses so many batches for `drain`, at most; those of before are replaced."""
        self._most = batches

    def drain(self, cores: float | None = None, most_s: float = float("inf")) -> Drained:
        """Takes the chosen batches, and does nothing with them.

        Args:
            cores: one of `choices`; by default as it is.
            most_s: seconds behind which no more are taken.

        Raises:
            PipelineError: it gives less than two batches.
        """
        cores = self.cores if cores is None else cores
        ahead = self._round(cores)
        chosen = self._chosen(cores)
        begun, used, busy = time.perf_counter(), _cpu_s(), busy_s()
        samples = batches = 0
        at = since = begun
        for batch in itertools.islice(chosen, self._most):
            batches, at = batches + 1, time.perf_counter()
            if batches == ahead:
                since = at
            elif batches > ahead:
                samples += size_of(batch)
            if at - begun > most_s and batches >= max(2 * ahead, _FEW) and not batches % ahead:
                break
        spent = time.perf_counter() - begun
        del chosen  # ends its workers, so that their CPU time is counted
        if not samples or at <= since:
            raise PipelineError(
                f"{self.about['class']} gave {batches} batches, too few to measure it"
            )
        own = _cpu_s() - used
        all_of_it = busy_s() - busy
        foreign = max(0.0, all_of_it - own) / spent
        scarce = all_of_it > _SCARCE * spent * cores_here()
        share = 1.0 if scarce else min(1.0, own / (spent * cores))
        return Drained(cores, samples, at - since, share, batches, foreign, own / spent)

    def _round(self, cores: float) -> int:
        """Batches that are made at once, with the first of which workers start."""
        return max(1, int(cores))

    def _chosen(self, cores: float) -> Iterator[Any]:
        del cores
        return iter(self.loader)

    def indices(self) -> tuple[Any, list[Any]]:
        """A dataset, and which samples of it the chosen batches have; none where not known."""
        return None, []

    def kept(self) -> Kept | None:
        """What the loader of the training keeps by itself; None where that is not known."""
        return None

    def kept_alike(self) -> Kept | None:
        """What the loaders keep that were drained last, over the chosen batches."""
        return None

    def files(self) -> list[str]:
        """The files that it says it reads, of all of its samples; none where it does not say."""
        return []


class TorchLoader(AnyLoader):
    """torch's loader, or that of this package: others are made like it, with other workers."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        ours = type(loader).__module__.partition(".")[0] == "drapps"
        there = cores_here()
        workers = loader.num_workers if isinstance(loader.num_workers, int) else int(there)
        self._ours = ours
        self._native = ours and loader.lifted().native
        self.workers = int(there) if self._native else workers
        self.in_turn = not self.workers
        self.depth = max(2, workers) * 2 if ours else workers * (loader.prefetch_factor or 2)
        self.cores = float(max(1, self.workers))
        self.about |= {
            "kind": "drapps" if ours else "stock",
            "native": self._native,
            "batch_size": loader.batch_size,
            "num_workers": loader.num_workers,
            "dataset": type(loader.dataset).__qualname__,
        }
        with contextlib.suppress(TypeError, NotImplementedError):
            self.samples = len(loader.dataset)
        self.choices = choices_of(self.cores, there)
        self.keeps = self._native and loader.cache != "off"
        self._batches: list[Any] | None = None
        self._loaders: dict[float, Any] = {}

    def draw(self, batches: int) -> None:
        """Index batches of the loader's own sampler, where its dataset has an index."""
        self._most, self._loaders = batches, {}
        if hasattr(self.loader.dataset, "__iter__") and not hasattr(
            self.loader.dataset, "__getitem__"
        ):
            return
        sampler = self.loader.batch_sampler or self.loader.sampler
        self._batches = list(itertools.islice(iter(sampler), batches))
        self._most = len(self._batches)

    def _round(self, cores: float) -> int:
        return max(1, int(cores)) if self._workers(cores) else 1

    def _workers(self, cores: float) -> int:
        if self._native:
            return 0
        return 0 if not self.workers and cores == self.cores else int(cores)

    def kept(self) -> Kept | None:
        """As `AnyLoader.kept`, of native loaders."""
        return Kept.of(self.loader) if self.keeps else None

    def kept_alike(self) -> Kept | None:
        """As `AnyLoader.kept_alike`."""
        loader = self._loaders.get(self.cores)
        return None if loader is None else Kept.of(loader)

    def _chosen(self, cores: float) -> Iterator[Any]:
        if self.fresh or not self.keeps:
            return iter(self._like_it(cores))
        if cores not in self._loaders:
            self._loaders[cores] = self._like_it(cores)
            for _ in self._loaders[cores]:  # so that the loader keeps its samples
                pass
        return iter(self._loaders[cores])

    def _like_it(self, cores: float) -> Any:
        """A loader of the chosen batches, with the options of this one."""
        loader, workers = self.loader, self._workers(cores)
        options = {name: getattr(loader, name) for name in _OPTIONS if hasattr(loader, name)}
        if not workers:
            options |= {"multiprocessing_context": None, "timeout": 0}
        elif loader.prefetch_factor is not None:
            options["prefetch_factor"] = loader.prefetch_factor
        if self._batches is None:
            options |= {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
        elif loader.batch_size is not None:
            options |= {"sampler": self.indices()[1], "batch_size": loader.batch_size}
        elif loader.batch_sampler is not None:
            options["batch_sampler"] = self._batches[: self._most]
        else:
            options |= {"sampler": self._batches[: self._most], "batch_size": None}
        kind: Any = sys.modules["torch.utils.data"].DataLoader
        if self._ours:
            kind = sys.modules["drapps.torch"].DataLoader
            form = ("off", "auto") if self.fresh else (loader.cache, loader.form)
            options |= {"cache": form[0], "form": form[1], "cpu_budget": cores}
        return kind(loader.dataset, num_workers=workers, **options)

    def indices(self) -> tuple[Any, list[Any]]:
        """The dataset, and the indices of the chosen batches."""
        chosen = (self._batches or [])[: self._most]
        if self.loader.batch_sampler is None:
            return self.loader.dataset, chosen
        return self.loader.dataset, [index for batch in chosen for index in batch]


def size_of(batch: Any) -> int:
    """Samples of a batch: the length of the first array in it; 1 where there is none."""
    pending = [batch]
    while pending:
        each = pending.pop(0)
        shape = getattr(each, "shape", None)
        if shape is not None and len(shape):
            return int(shape[0])
        if hasattr(each, "values") and callable(each.values):
            pending = [*each.values(), *pending]
        elif isinstance(each, (list, tuple)):
            if each and all(isinstance(value, (int, float, str, bytes)) for value in each):
                return len(each)
            pending = [*each, *pending]
    return 1


def choices_of(cores: float, there: float) -> list[float]:
    """The number of cores as it is, and another one, which tells how preparing scales with them."""
    if cores > 1:
        return [float(max(1, int(min(cores, there)) // 2)), cores]
    return [1.0, 2.0] if there >= 2 else [1.0]


def _cpu_s() -> float:
    """CPU time of this process, and of its children that have ended."""
    of = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    spent = [resource.getrusage(each) for each in of]
    return sum(each.ru_utime + each.ru_stime for each in spent)
