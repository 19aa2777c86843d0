"""What is noted of torch's loader, and of those of this package that derive from it.

All hooks are code put into torch's functions in place (`instrument`): iterators and loaders keep
their types, and whatever a framework does with them is seen. A hook that fails says nothing more.
"""

from __future__ import annotations

import ast
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drapps.watching.instrument import Values, around, instrument
from drapps.watching.iteration import NAMES, Iteration, caller, hooks_of, silent, steps_of
from drapps.watching.recorder import HERE
from drapps.watching.ring import Ring
from drapps.watching.steps import LoaderSteps, Span
from drapps.watching.worker_loop import WatchedLoop

_numbers = itertools.count()
_rings: dict[int, Path] = {}  # the latest of each loader
_ITERATORS = hooks_of(lambda _: None)
_OPTIONS = (
    "batch_size",
    "num_workers",
    "prefetch_factor",
    "pin_memory",
    "persistent_workers",
    "in_order",
)


def _about(loader: Any) -> dict[str, Any]:
    ours = type(loader).__module__.partition(".")[0] == "drapps"
    about = {"kind": "drapps" if ours else "stock", "class": type(loader).__qualname__}
    about |= {name: _plain(getattr(loader, name, None)) for name in _OPTIONS}
    return about | {"at": caller(), "dataset": type(getattr(loader, "dataset", None)).__qualname__}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, str, type(None))) else str(value)


@silent
def _iterator_begins(iterator: Any, loader: Any, *_: Any) -> None:
    steps = steps_of(loader, lambda: _about(loader))
    steps.begins(time.perf_counter())
    if steps.about["kind"] == "drapps":
        iterator._drapps_watched = Iteration(steps)
        tells_stats(loader, steps)
    elif not steps.about["num_workers"]:
        iterator._drapps_watched = Iteration(steps)
    else:
        path = HERE.ring_path(next(_numbers))
        ring = Ring(path)
        before = _rings.get(id(steps))
        if before is not None:  # which the workers of that pass have mapped long since
            before.unlink(missing_ok=True)
        _rings[id(steps)] = path
        worker: Any = sys.modules["torch.utils.data._utils.worker"]
        worker._worker_loop = WatchedLoop.around(worker._worker_loop, path)
        iterator._drapps_watched = Iteration(steps, _readiness(weakref.ref(iterator), ring))


def _readiness(iterator: weakref.ref[Any], ring: Ring) -> Callable[[float], float | None]:
    def ready(since: float) -> float | None:
        there = iterator()
        if there is None or not getattr(there, "_in_order", True):
            return None
        times = ring.get(there._rcvd_idx - 1, since)
        return None if times is None else times[1]

    return ready


def tells_stats(loader: Any, steps: LoaderSteps) -> None:
    """What a loader of this package counts for itself is told, too."""
    if steps.about.setdefault("tells", False):
        return
    steps.about["tells"] = True
    there, recorder = weakref.ref(loader), HERE.recorder()

    def stats() -> dict[str, Any] | None:
        living = there()
        if living is None:
            return None
        return {"loader": recorder.loaders.index(steps), "stats": living.stats().to_json()}

    recorder.tells(stats)


def hook_loader(module: Any) -> bool:
    """Hooks the iterators of ``torch.utils.data.dataloader``."""
    names = {"_drapps_made": _iterator_begins, **_ITERATORS}
    base = module._BaseDataLoaderIter
    return instrument(base.__init__, _first("_drapps_made"), names) and instrument(
        base.__next__, around(*NAMES), names
    )


def _first(name: str) -> Callable[[ast.FunctionDef], None]:
    """Calls a function with all arguments first."""

    def edit(node: ast.FunctionDef) -> None:
        around(name, name)(node)
        guarded = node.body[-1]
        assert isinstance(guarded, ast.Try)
        node.body[-1:] = guarded.body

    return edit


def hook_own_iterator(module: Any) -> bool:
    """Hooks the iterators of this package, whose ``__next__`` is not torch's."""
    methods = [
        vars(value)["_next_data"]
        for value in list(vars(module).values())
        if isinstance(value, type) and value.__module__ == module.__name__
        if "_next_data" in vars(value)
    ]
    done = [instrument(each, around(*NAMES), _ITERATORS) for each in methods]
    return bool(done) and all(done)


@silent
def _fetch_begins(fetcher: Any, *_: Any) -> None:
    making = HERE.recorder().making()
    making.dataset = fetcher.dataset
    making.begins()


@silent
def _fetch_ends(*_: Any) -> None:
    HERE.recorder().making().ends()


@silent
def _sampled(index: Any) -> None:
    HERE.recorder().making().sampled(index)


def _pass_sample(index: Any, value: Any) -> Any:
    _sampled(index)
    return value


@silent
def _collates() -> None:
    HERE.recorder().making().collates()


@silent
def _collated() -> None:
    HERE.recorder().making().collated()


def _pass_batch(_: None, value: Any) -> Any:
    _collated()
    return value


def hook_fetch(module: Any) -> bool:
    """Hooks ``torch.utils.data._utils.fetch``: each sample, and how they become a batch."""
    names = {
        "_drapps_begins": _fetch_begins,
        "_drapps_ends": _fetch_ends,
        "_drapps_sampled": _pass_sample,
        "_drapps_collates": _collates,
        "_drapps_collated": _pass_batch,
    }
    fetchers = (module._MapDatasetFetcher, module._IterableDatasetFetcher)
    done = [instrument(each.fetch, _edit_fetch, names) for each in fetchers]
    return all(done)


def _edit_fetch(node: ast.FunctionDef) -> None:
    Values(_noted).visit(node)
    around("_drapps_begins", "_drapps_ends")(node)


def _noted(node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    written = ast.unparse(node)
    if isinstance(node, ast.Subscript) and written.startswith("self.dataset["):
        return "_drapps_sampled", [ast.parse(ast.unparse(node.slice), mode="eval").body]
    if written == "next(self.dataset_iter)":
        return "_drapps_sampled", [ast.Constant(None)]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.collate_fn":
        return "_drapps_collated", [ast.Call(ast.Name("_drapps_collates", ast.Load()), [], [])]
    return None


@silent
def _sample_begins(job: Any, index: Any, *_: Any) -> None:
    making = HERE.recorder().making()
    making.begins()
    making.index, making.dataset = index, job.dataset


@silent
def _sample_ends(_job: Any) -> None:
    making = HERE.recorder().making()
    making.sampled(making.index)
    making.ends()


@silent
def _joins(*_: Any) -> None:
    making = HERE.recorder().making()
    making.begins()
    making.collates()


@silent
def _joined(_job: Any) -> None:
    making = HERE.recorder().making()
    making.collated()
    making.ends()


def hook_own_job(module: Any) -> bool:
    """Hooks ``drapps.torch.map_job``, whose processes make samples one by one."""
    names = {"_drapps_begins": _sample_begins, "_drapps_ends": _sample_ends}
    names |= {"_drapps_joins": _joins, "_drapps_joined": _joined}
    job = module.MapJob
    sample = instrument(job.sample, around("_drapps_begins", "_drapps_ends"), names)
    return instrument(job.collate, around("_drapps_joins", "_drapps_joined"), names) and sample


_saving: list[Span] = []  # of the main thread: what others save, no step waits for


@silent
def _save_begins(*_: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        _saving.append(HERE.recorder().span("checkpoint"))


@silent
def _save_ends(*_: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        _saving.pop().ended = time.perf_counter()


def hook_save(module: Any) -> bool:
    """Hooks ``torch.serialization``: checkpoints take place apart from steps."""
    names = {"_drapps_begins": _save_begins, "_drapps_ends": _save_ends}
    return instrument(module.save, around("_drapps_begins", "_drapps_ends"), names)
