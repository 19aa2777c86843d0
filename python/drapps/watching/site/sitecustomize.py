"""Python imports this first where ``drapps watch`` or ``analyze`` runs a script, to hook imports.

It then does what Python would have done without it: the user's own module of this name runs, and
this folder is no more among those that modules are looked for in. Children find it again, by
PYTHONPATH.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path


def _hook() -> None:
    watched, analyzed = os.environ.get("DRAPPS_WATCH"), os.environ.get("DRAPPS_ANALYZE_FOLDER")
    folder = analyzed or watched
    if not folder or not os.path.isdir(folder):  # noqa: PTH112 - at every start of Python
        return
    package = Path(__file__).resolve().parents[2]
    if importlib.machinery.PathFinder.find_spec("drapps") is None:
        # This package is of another environment, whose other packages are not to be seen.
        init = str(package / "__init__.py")
        spec = importlib.util.spec_from_file_location(
            "drapps", init, submodule_search_locations=[str(package)]
        )
        assert spec is not None and spec.loader is not None
        module = sys.modules["drapps"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    if analyzed:
        from drapps.analysis import child

        child.install(Path(folder))
    else:
        from drapps.watching import hooks

        hooks.install(Path(folder))


def _go_on() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _hook()
except Exception as error:
    print(f"drapps: nothing is measured here: {error!r}", file=sys.stderr)
_go_on()
