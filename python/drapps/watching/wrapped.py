"""``drapps.watch(loader)``: the loader, measured."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from drapps.errors import PipelineError
from drapps.watching import hooks
from drapps.watching.iteration import Iteration, caller, steps_of
from drapps.watching.recorder import HERE

if TYPE_CHECKING:
    from drapps.watching.device import Device
    from drapps.watching.report import WatchReport

T = TypeVar("T")


def watch(loader: Iterable[T], *, device: Device | None = None) -> Watched[T]:
    """Measure how long a training waits for a loader, and why.

    Args:
        loader: anything that can be iterated: torch's DataLoader, one of this package, a
            ``tf.data.Dataset``, Grain, a generator.
        device: what works beside the training loop; torch's current CUDA device where it is in
            use. ``record()`` gives an event of which ``query()`` says whether all is done that was
            launched before.

    Returns:
        An iterable that behaves as the loader. ``watch_report()`` says what was found.

    Raises:
        PipelineError: `loader` cannot be iterated.
    """
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise PipelineError(f"a {type(loader).__name__} cannot be iterated, so not be watched")
    if HERE.folder is None:
        folder = Path(tempfile.mkdtemp(prefix="drapps-watch-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        hooks.install(folder)
    if device is not None:
        HERE.recorder().idleness.use(device)
    return Watched(loader)


class Watched(Generic[T]):
    """A loader that is measured: all that it has is there, and ``isinstance`` takes it for it."""

    def __init__(self, loader: Iterable[T]) -> None:
        self._watched_loader = loader
        self._watched_at = caller()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._watched_loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_watched_loader"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_watched_"):
            self.__dict__[name] = value
        else:
            setattr(self._watched_loader, name, value)

    def __len__(self) -> int:
        return len(self._watched_loader)  # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        return self._watched_loader[index]  # type: ignore[index]

    def __repr__(self) -> str:
        return f"drapps.watch({self._watched_loader!r})"

    def __iter__(self) -> Iterator[T]:
        begun = time.perf_counter()
        iterator = iter(self._watched_loader)
        if _counts(iterator):
            return iterator
        loader = self._watched_loader
        about = {"kind": "iterable", "class": type(loader).__qualname__, "at": self._watched_at}
        steps = steps_of(loader, lambda: about)
        steps.begins(begun)
        return _Iterator(iterator, Iteration(steps))

    def watch_report(self) -> WatchReport:
        """What was found until now, of all loaders of this process that are watched.

        Raises:
            PipelineError: no batch was taken yet.
        """
        from drapps.watching import merge

        HERE.recorder().leave()
        assert HERE.folder is not None
        return merge.report_of(HERE.folder)


def _counts(iterator: Any) -> bool:
    """Whether the iterator's own ``next`` is hooked."""
    import sys

    torch = sys.modules.get("torch.utils.data.dataloader")
    if torch is not None and isinstance(iterator, torch._BaseDataLoaderIter):
        return True
    kind = type(iterator)
    next_code = getattr(getattr(kind, "__next__", None), "__globals__", {})
    return "_drapps_begins" in next_code and hasattr(kind, "__next__")


class _Iterator(Iterator[T]):
    """Passes the batches of another one on."""

    def __init__(self, iterator: Iterator[T], iteration: Iteration) -> None:
        self._iterator, self._iteration = iterator, iteration

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __next__(self) -> T:
        self._iteration.begins()
        try:
            return next(self._iterator)
        except BaseException:
            self._iteration.fails()
            raise
        finally:
            self._iteration.ends()
