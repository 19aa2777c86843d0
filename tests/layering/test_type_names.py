"""A type of the core has a name of its own: a search for it finds nothing else.

Counted is every struct, class, enum and union of src/drapps that has a body, in whatever namespace
or class it stands. Aliases are other names of the same type, and types of tests are free: a test is
read beside what it tests.

What is left out is what many types declare by the same name because one template asks them for it.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

INTERFACES = {
    "Shared": "device/kernel/body.h asks every kernel of a device for it",
    "SourceWindow": "kernel/resize_lanes.h asks the vectors of each SIMD level for it",
}

NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
TYPE = re.compile(
    r"""\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+
    (?:alignas\([^)]*\)\s*)?(?:\[\[\w+\]\]\s*)?
    (?P<name>(?:\w+::)*\w+)\s*
    (?:final\s*)?(?::[^;{()]*)?\{""",
    re.VERBOSE,
)
OF_TESTS = re.compile(r"^test|_test\.|_bench\.|testing\.h$")


def types_of(text: str) -> list[str]:
    """The name of each type that the text defines, without what it stands in."""
    code = NOT_CODE.sub("", text)
    return [match["name"].rpartition("::")[2] for match in TYPE.finditer(code)]


def files_by_type(source: Path) -> dict[str, list[str]]:
    """Where each name is defined, once for every definition."""
    files = defaultdict(list)
    for file in sorted(source.rglob("*")):
        if file.suffix in {".h", ".cc", ".cu"} and not OF_TESTS.search(file.name):
            for name in types_of(file.read_text()):
                files[name].append(file.relative_to(source).as_posix())
    return files


def shared_names(source: Path) -> list[str]:
    """One line for each name that several types have."""
    return [
        f"{name}: {', '.join(files)}"
        for name, files in sorted(files_by_type(source).items())
        if len(files) > 1 and name not in INTERFACES
    ]


def test_no_two_types_of_the_core_share_a_name() -> None:
    assert len(files_by_type(ROOT / "src/drapps")) > 500
    assert shared_names(ROOT / "src/drapps") == []


@pytest.mark.parametrize("name", sorted(INTERFACES))
def test_what_a_template_asks_for_is_declared_by_many(name: str) -> None:
    assert len(files_by_type(ROOT / "src/drapps")[name]) > 1


@pytest.mark.parametrize(
    "second",
    [
        "struct Entry {};",
        "class alignas(64) Entry final : public Base<int>, Other {\n};",
        "enum class Entry : std::uint8_t { kA };",
        "namespace { union Entry { int a; }; }",
        "class Other { template <class T> struct Entry { T a; }; };",
        "struct Other::Entry { int a; };",
        'constexpr int k = 1\'000; const char* s = R"(" // )"; struct Entry {};',
    ],
)
def test_a_second_type_of_a_name_is_found(tmp_path: Path, second: str) -> None:
    (tmp_path / "a.h").write_text("struct Entry {\n  int value;\n};\n")
    (tmp_path / "b.cc").write_text(second)
    assert shared_names(tmp_path) == ["Entry: a.h, b.cc"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("b.h", "struct Entry;\nclass Entry;\nenum class Entry : int;"),
        ("b.h", '// struct Entry {\n/* class Entry { */ const char* s = "struct Entry {";'),
        ("b.h", "using Entry = Other;\nstruct Entry* made(struct Entry entry);"),
        ("b_test.cc", "struct Entry {};"),
        ("test_pass.h", "struct Entry {};"),
    ],
)
def test_what_is_no_second_type_is_left_alone(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "a.h").write_text("struct Entry {};\n")
    (tmp_path / file).write_text(text)
    assert shared_names(tmp_path) == []
