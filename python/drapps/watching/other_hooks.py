"""What is noted of loaders that are not torch's: the builder's, tf.data's and Grain's."""

from __future__ import annotations

import contextlib
import inspect
import time
from typing import Any

from drapps.watching.grain_pipelines import within_pipeline
from drapps.watching.instrument import around, instrument, returned
from drapps.watching.iteration import NAMES, Iteration, caller, hooks_of, steps_of
from drapps.watching.torch_hooks import tells_stats


def _of_builder(iterator: Any) -> Iteration:
    loader = iterator._state.__self__
    about = {"kind": "drapps", "class": "Loader", "at": caller(), "num_workers": None}
    steps = steps_of(loader, lambda: about | {"batch_size": loader.layout.batch_size})
    tells_stats(loader, steps)
    return Iteration(steps)


def hook_builder(module: Any) -> bool:
    """Hooks the iterators of ``drapps.loader``."""
    return instrument(module.LoaderIterator.__next__, around(*NAMES), hooks_of(_of_builder))


def _by_line(kind: str, iterator: Any) -> Iteration:
    """The iteration of a loader that no object identifies: the line that asks first is its name."""
    at = caller()
    about = {"kind": kind, "class": type(iterator).__qualname__, "at": at}
    steps = steps_of(f"{kind} {at}", lambda: about)
    steps.begins(time.perf_counter())
    return Iteration(steps)


def hook_tensorflow(module: Any) -> bool:
    """Hooks the iterators of ``tensorflow.python.data.ops.iterator_ops`` that Python code asks."""
    names = hooks_of(lambda iterator: _by_line("tf.data", iterator))
    return instrument(module.OwnedIterator.__next__, around(*NAMES), names)


def hook_grain(module: Any) -> bool:
    """Hooks Grain's ``DataLoader``: the iterator that stands between it and users."""
    names = hooks_of(lambda iterator: _by_line("grain", iterator))
    wanted = ("DataLoaderIterator", "PyGrainDatasetIterator")
    classes = [vars(module)[name] for name in wanted if name in vars(module)]
    done = [instrument(each.__next__, around(*NAMES), names) for each in classes]
    return bool(done) and all(done)


def hook_grain_datasets(module: Any) -> bool:
    """Hooks Grain's datasets: of the iterators that a pipeline is made of, the one at its end.

    All of them are made in one place, where what stands at the end is known; the ``next`` of its
    class is hooked then, and leaves all other iterators of that class alone.
    """
    names = hooks_of(lambda _: None)
    hooked: dict[type, bool] = {}

    def ends(end: Any, iterator: Any) -> Any:
        with contextlib.suppress(Exception):
            end._parent.has_child = False  # so that its next pass comes through here, too
            if iterator._ctx.is_dataloader_pipeline or within_pipeline():
                return iterator
            kind = type(iterator)
            if kind not in hooked:
                asked = inspect.unwrap(kind.__next__)
                hooked[kind] = instrument(asked, around(*NAMES), names)
            if hooked[kind]:
                iterator._drapps_watched = _by_line("grain", iterator)
        return iterator

    return instrument(
        inspect.unwrap(module._OutputIterDataset.__iter__),
        returned("_drapps_at_end"),
        {"_drapps_at_end": ends},
    )
