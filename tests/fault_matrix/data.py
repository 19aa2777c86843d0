"""Datasets that fail in the ways that the scenes and trials need, and what their streams are."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset

from drapps.torch import DataLoader

SIZE = 48
BATCH = 4


def sample(index: int, drawn: float = 0.0) -> torch.Tensor:
    """What a dataset gives at an index."""
    return torch.full((256,), index + drawn, dtype=torch.float64)


class Numbers(Dataset[torch.Tensor]):
    """Samples that depend on their index and on random numbers, and take some time."""

    def __init__(self, seconds: float = 0.002) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return sample(index, random.random())


class Unpicklable(Numbers):
    """One sample raises an exception of a local class, whose arguments do not pickle either."""

    def __init__(self, bad: int = 13, after: int = SIZE) -> None:
        super().__init__()
        self.bad = bad
        self.after = after

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == self.bad or index >= self.after:
            raise_unpicklable()
        return super().__getitem__(index)


def raise_unpicklable() -> None:
    """An exception that pickle knows no way with."""

    class LocalError(Exception):
        def __init__(self, message: str, code: int, payload: Any) -> None:
            super().__init__(message)
            self.code = code
            self.payload = payload

    raise LocalError("the reason in words", 3, lambda: None)


class Fuse:
    """Ends its process when it is dropped, once for all processes that share `file`."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __del__(self) -> None:
        if once(self.file):
            os._exit(7)


def once(file: str) -> bool:
    """True for the first caller of all processes."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Fused(Numbers):
    """Drops a fuse at one index: at once, some seconds later, or when a file is there."""

    def __init__(self, file: str, delay: float = 0, at: int = 9, when: str = "") -> None:
        super().__init__()
        self.file = file
        self.delay = delay
        self.at = at
        self.when = when

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == self.at and not Path(self.file).exists():
            import threading

            fuses = [Fuse(self.file)]
            if self.when:
                threading.Thread(target=self._wait_and_drop, args=(fuses,), daemon=True).start()
            elif self.delay:
                threading.Timer(self.delay, fuses.clear).start()
            else:
                del fuses
        return super().__getitem__(index)

    def _wait_and_drop(self, fuses: list[Fuse]) -> None:
        while not Path(self.when).exists():
            time.sleep(0.01)
        fuses.clear()


class Marked(Numbers):
    """One process tells its pid in `file`, from the middle of a long sample; only once."""

    def __init__(self, file: str, at: int = 9) -> None:
        super().__init__()
        self.file = file
        self.at = at

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == self.at and once(self.file + ".begun"):
            Path(self.file + ".new").write_text(str(os.getpid()))
            Path(self.file + ".new").rename(self.file)
            time.sleep(3)
        return super().__getitem__(index)


def marked_pid(file: str) -> int:
    """Of the process that is in the middle of the long sample."""
    while not Path(file).exists():
        time.sleep(0.01)
    return int(Path(file).read_text())


class BadSecondPass(IterableDataset[torch.Tensor]):
    """A stream that cannot begin once."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        if self.passes == 2:
            raise_unpicklable()
        info = torch.utils.data.get_worker_info()
        assert info is not None
        return iter([sample(i) for i in range(info.id, SIZE, info.num_workers)])


class BadSampler:
    """Raises in its iter() or at its fifth index, the first time."""

    def __init__(self, at_iter: bool) -> None:
        self.at_iter = at_iter
        self.iterations = 0

    def __len__(self) -> int:
        return SIZE

    def __iter__(self) -> Any:
        self.iterations += 1
        fails = self.iterations == 2
        if fails and self.at_iter:
            raise_unpicklable()
        return self._indices(fails)

    def _indices(self, fails: bool) -> Any:
        for index in range(SIZE):
            if fails and index == 5:
                raise_unpicklable()
            yield index


class Transferred:
    """A batch that raises, or drops a fuse, where it is pinned with a sample in it.

    Args:
        samples: of the batch.
        at: the sample.
        armed: nothing happens before this file exists.
        fuse: of the process; it raises where that is None.
        delay: seconds before.
    """

    def __init__(
        self, samples: Any, at: int, armed: str, fuse: str | None = None, delay: float = 0
    ) -> None:
        self.batch = torch.stack(samples)
        self.at = at
        self.armed = armed
        self.fuse = fuse
        self.delay = delay

    def pin_memory(self) -> torch.Tensor:
        """The batch itself."""
        if Path(self.armed).exists() and self.at in self.batch[:, 0].int().tolist():
            time.sleep(self.delay)
            if self.fuse is None:
                raise_unpicklable()
            fuse = Fuse(self.fuse)
            del fuse
        return self.batch


def pretend_accelerator() -> None:
    """Lets loaders pin their batches, as far as these let themselves be pinned."""
    accelerator: Any = torch.accelerator
    accelerator.is_available = lambda: True
    accelerator.current_accelerator = lambda: torch.device("cuda")
    accelerator.current_device_index = lambda: 0
    accelerator.set_device_index = lambda _: None


def loader(dataset: Any, method: str, **options: Any) -> DataLoader[Any]:
    """With two workers, and fixed random numbers."""
    generator = torch.Generator().manual_seed(7)
    given = {"batch_size": BATCH, "num_workers": 2, "generator": generator, "seed": 7}
    return DataLoader(dataset, multiprocessing_context=method, **(given | options))


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def values(batches: Any) -> list[list[float]]:
    """Of the samples of each batch; each sample must be whole."""
    rows = []
    for batch in batches:
        assert bool((batch == batch[:, :1]).all()), "a sample that was torn"
        rows.append(batch[:, 0].tolist())
    return rows
