"""A file can be held in the head: none has over 400 lines, but for tables that are generated."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("src", "python", "fuzz", "demo", "benchmarks", "examples", "tools", "tests")
KINDS = {".cc", ".h", ".py", ".sh"}
TABLES = {"src/drapps/text/unicode/form_tables.cc"}
MOST = 400


def long_files(root: Path) -> list[str]:
    """Files of more lines than that, and how many they have; what a build made is not counted."""
    files = (file for place in PLACES for file in (root / place).rglob("*"))
    sources = sorted(file for file in files if file.suffix in KINDS)
    lines = {file.relative_to(root).as_posix(): file.read_text().count("\n") for file in sources}
    assert lines
    return [
        f"{name}: {count}" for name, count in lines.items() if count > MOST if name not in TABLES
    ]


def test_no_file_is_long() -> None:
    assert long_files(ROOT) == []


@pytest.mark.parametrize(("lines", "complaints"), [(400, []), (401, ["tools/x.py: 401"])])
def test_a_long_file_is_named(tmp_path: Path, lines: int, complaints: list[str]) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/x.py").write_text("pass\n" * lines)
    assert long_files(tmp_path) == complaints
