"""Imports torchvision, also where its compiled part cannot be loaded.

The wheel of torchvision holds operators that need the CUDA libraries of a matching torch. Beside
a torch built for the CPU they cannot be loaded, and the module which describes them to torch then
fails and takes the whole import with it. The demo needs only transforms on PIL pictures and
ImageFolder, which are Python. So that one module is tried first, and an empty one put in its place
where it does not load. A torchvision that is complete is left as it is.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_DESCRIPTIONS = "torchvision._meta_registrations"


def load() -> tuple[Any, Any]:
    """Returns torchvision's modules `datasets` and `transforms`; ImportError when there is none."""
    try:
        importlib.import_module("torchvision")
    except (RuntimeError, AttributeError):
        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules[_DESCRIPTIONS] = ModuleType(_DESCRIPTIONS)
        importlib.import_module("torchvision")
    datasets = importlib.import_module("torchvision.datasets")
    return datasets, importlib.import_module("torchvision.transforms")
