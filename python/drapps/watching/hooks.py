"""Hooks for what a script imports, put in when it is imported; modules that are there already too.

Which library is hooked where is the table at the end.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from drapps.watching import other_hooks, torch_hooks
from drapps.watching.recorder import HERE
from drapps.watching.worker_loop import WatchedLoop

Hook = Callable[[Any], bool]


def install(folder: Path) -> None:
    """Hooks all that this process has imported and will import.

    Args:
        folder: where this process and its children leave what they record.
    """
    if HERE.folder is not None:
        return
    HERE.folder = folder
    WatchedLoop.remake = (_remade,)
    hook_imports({module: _noted(what, hook) for module, (what, hook) in TABLE.items()})


def hook_imports(table: Mapping[str, Callable[[Any], Any]]) -> None:
    """Calls functions with the modules that they are for: now, or when these have been imported."""
    waiting = {}
    for module, hook in table.items():
        there = sys.modules.get(module)
        if there is not None:
            hook(there)
        else:
            waiting[module] = hook
    sys.meta_path.insert(0, _Finder(waiting))


def _noted(what: str, hook: Hook) -> Callable[[Any], None]:
    """A hook that fails in silence, of which it is noted whether it was put in."""

    def noted(module: ModuleType) -> None:
        try:
            done = hook(module)
        except Exception:
            done = False
        HERE.hooked[what] = "hooked" if done and HERE.hooked.get(what) != "failed" else "failed"

    return noted


def _remade(ring: str, folder: str) -> WatchedLoop:
    from torch.utils.data._utils import worker

    install(Path(folder))
    loop: Any = worker._worker_loop
    return WatchedLoop.around(loop, Path(ring))


class _Finder:
    """Finds modules that are to be hooked as other finders do, and hooks each once it has run."""

    def __init__(self, waiting: dict[str, Callable[[Any], Any]]) -> None:
        self._waiting = waiting

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What other finders find for a module that is to be hooked; None for all else."""
        if name not in self._waiting:
            return None
        hook = self._waiting.pop(name)
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _hook_when_run(spec, hook)
                return spec
        return None


def _hook_when_run(spec: importlib.machinery.ModuleSpec, hook: Callable[[Any], Any]) -> None:
    loader: Any = spec.loader
    if not hasattr(loader, "exec_module"):
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        hook(module)

    loader.exec_module = exec_module


TABLE: dict[str, tuple[str, Hook]] = {
    "torch.utils.data.dataloader": ("torch.utils.data.DataLoader", torch_hooks.hook_loader),
    "torch.utils.data._utils.fetch": ("datasets of torch", torch_hooks.hook_fetch),
    "torch.serialization": ("torch.save", torch_hooks.hook_save),
    "drapps.torch.iterator": ("drapps.torch.DataLoader", torch_hooks.hook_own_iterator),
    "drapps.torch.worker_iterator": ("drapps.torch.DataLoader", torch_hooks.hook_own_iterator),
    "drapps.torch.map_job": ("drapps.torch.DataLoader", torch_hooks.hook_own_job),
    "drapps.loader": ("drapps.Loader", other_hooks.hook_builder),
    "tensorflow.python.data.ops.iterator_ops": ("tf.data", other_hooks.hook_tensorflow),
    "grain._src.python.data_loader": ("grain.DataLoader", other_hooks.hook_grain),
    "grain._src.python.dataset.dataset": ("datasets of Grain", other_hooks.hook_grain_datasets),
}
