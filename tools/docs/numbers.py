"""The table of docs/reference/observation.md, made of what the core says of its numbers.

``python -m tools.docs.numbers`` writes it anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from drapps import _core

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/observation.md"
_SPREAD = ("count", "sum", "p50", "p90", "p99", "most")
_WEIGHT = "settings.weight."
_TABLE = re.compile(r"^\| number \|.*?(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)
_HEAD = ("number", "unit", "who counts it", "kind", "what it is")


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        name: of one number, of a spread, or of one for each lane.
        unit: of its values.
        source: who counts it.
        kind: ``counter``, ``gauge`` or ``spread``.
        meaning: what it is; may be empty.
    """

    name: str
    unit: str
    source: str
    kind: str
    meaning: str

    def __str__(self) -> str:
        source = (
            f"`{self.source}`" if re.search(r"^/|^nvml|^mincore$", self.source) else self.source
        )
        cells = (f"`{self.name}`", self.unit, source, self.kind, self.meaning)
        return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def lanes() -> list[str]:
    """The names that ``LANE`` stands for."""
    names = [number[0] for number in _core.observation_numbers()]
    return [name.removeprefix(_WEIGHT) for name in names if name.startswith(_WEIGHT)]


def rows() -> list[Row]:
    """One for each number: one for a spread, and one for all lanes."""
    return list(dict.fromkeys(_rows()))


def _rows() -> Iterator[Row]:
    lane = re.compile(rf"(^|\.)({'|'.join(map(re.escape, lanes()))})(\.|$)")
    numbers = [Row(*number) for number in _core.observation_numbers()]
    names = {number.name for number in numbers}
    for number in numbers:
        head, _, part = number.name.rpartition(".")
        if all(f"{head}.{each}" in names for each in _SPREAD):
            if part != "p50":
                continue
            number = number._replace(name=head, kind="spread")
        yield number._replace(name=lane.sub(r"\1LANE\3", number.name))


def page(text: str) -> str:
    """The page, with its table made anew."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD), *map(str, rows())]
    return _TABLE.sub(lambda _: "\n".join(lines), text, count=1)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
