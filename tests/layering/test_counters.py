"""A counter is written once: what shows all of them is made from their lists, and names none.

Beside the struct that declares it (`base/number.h` says how) a new counter touches the page that
`python -m tools.docs.numbers` makes, and where it is counted.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = re.compile(r"\bListedNumber\{&\w+::(\w+),\s*\{\"(\w+)\"")
MADE_FROM_LISTS = (
    *(
        "src/drapps/plant/fields.h",
        "src/drapps/plant/fields.cc",
        "src/drapps/control/plant_stats.cc",
    ),
    *("src/drapps/trace/header.cc", "src/drapps/trace/encoder.cc", "src/drapps/trace/decoder.cc"),
    *("python/src/bind_trace.cc", "tools/docs/numbers.py"),
)
GROUPS = ("storage", "device", "upcoming", "processes")  # what their structs are called there


def listed() -> dict[str, str]:
    """By the member of each counter that lists itself, the file that declares it."""
    files = {}
    for file in sorted((ROOT / "src/drapps").rglob("*.h")):
        for member, _ in LISTED.findall(file.read_text()):
            files.setdefault(member, file.relative_to(ROOT).as_posix())
    return files


def touched_by(member: str) -> list[str]:
    """Which of the files that show counters would have to name this one."""
    named = re.compile(rf"\b(?:{'|'.join(GROUPS)})\.{member}\b")
    return [file for file in MADE_FROM_LISTS if named.search((ROOT / file).read_text())]


def test_a_counter_touches_nothing_that_is_made_from_the_lists() -> None:
    counters = listed()
    assert {"refusals", "launches", "indexed", "idle_cores_ns"} <= counters.keys()
    touched = {member: touched_by(member) for member in counters}
    assert {member: files for member, files in touched.items() if files} == {}


def test_a_counter_is_declared_in_one_file() -> None:
    places = [
        file.relative_to(ROOT).as_posix()
        for file in sorted((ROOT / "src/drapps").rglob("*.h"))
        if re.search(r"\bListedNumber\{&\w+::refusals\b", file.read_text())
    ]
    assert places == [listed()["refusals"]]


def test_a_file_that_names_a_counter_is_found() -> None:
    text = (ROOT / "src/drapps/plant/features.cc").read_text()
    assert re.search(r"\bstorage\.refusals\b", text), "it sees counters one by one"
