"""No module of the package needs itself: not at import, not in a function, not for types alone."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = "drapps._core"


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by the names that they are imported by."""
    modules = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return modules


def imported(file: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that a file imports anywhere in its code; a name in a package is the package."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name != EXTENSION:
                    names.add(name if name in modules else str(node.module))
    return names & modules.keys()


def cycle_in(package: Path) -> list[str]:
    """Modules that import one another in a circle, or none."""
    modules = modules_of(package)
    graph = {name: imported(file, modules) - {name} for name, file in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_of_the_package_needs_itself() -> None:
    assert len(modules_of(ROOT / "python/drapps")) > 50
    assert cycle_in(ROOT / "python/drapps") == []


@pytest.mark.parametrize(
    "statement",
    [
        "from package.upper import x",
        "import package.upper",
        "from package import upper",
        "def later():\n    import package.upper",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.upper import X",
    ],
)
def test_a_circle_is_found(tmp_path: Path, statement: str) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "upper.py").write_text("from package.lower import y\n")
    (package / "lower.py").write_text("")
    assert cycle_in(package) == []
    (package / "lower.py").write_text(statement + "\n")
    assert set(cycle_in(package)) == {"package.upper", "package.lower"}
