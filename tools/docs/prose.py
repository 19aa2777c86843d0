"""What people read of a page or a docstring, with everything else blanked out in its place."""

import ast
import re
from pathlib import Path

FENCE = r"^[ ]*(```+|~~~+)[^\n]*\n.*?^[ ]*\1[^\n]*$"
SPAN = r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)"
CODE = re.compile(f"(?ms){FENCE}|{SPAN.replace('1', '2')}")
COMMENT = re.compile(r"(?s)<!--.*?-->")
# Addresses, tags, what a page takes from docstrings, where links lead, names with a dot.
UNREAD = re.compile(
    r"(?m)https?://[^\s)>]+|</?\w[^>\n]*>|^:::.*$|(?<=\])\([^)\n]*\)|^\[[^]]+\]:.*$|\w+(\.\w+)+"
)
SECTION = re.compile(r"\s*(Args|Attributes|Returns|Yields|Raises)\b(?=[^\n]*:\n)")
ARGUMENT = re.compile(r"^\s+[\w*, ]+(?=:)")


def pages(root: Path) -> list[Path]:
    """The pages of the site, and those that stand beside it."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def without_code(text: str) -> str:
    """A page without its code and its comments."""
    return blanked(COMMENT, blanked(CODE, text))


def prose_of_page(text: str) -> str:
    """A page without all that is not prose."""
    return blanked(UNREAD, without_code(text))


def prose_of_docstrings(text: str) -> str:
    """The docstrings of a module, without code and the names of arguments."""
    lines = text.splitlines(keepends=True)
    kept = [re.sub(r"[^\n]", " ", line) for line in lines]
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is None:
            continue
        first = node.body[0]
        section, margin = False, first.col_offset
        for number in range(first.lineno - 1, first.end_lineno):
            line = lines[number]
            indent = len(line) - len(line.lstrip())
            if line.strip() and indent == margin:
                section = SECTION.match(line) is not None
            if section or indent == margin:  # else it is an example
                kept[number] = blanked(ARGUMENT if indent > margin else SECTION, line)
    return blanked(UNREAD, blanked(CODE, "".join(kept)))


def blanked(what: re.Pattern[str], text: str) -> str:
    """The text with blanks for each match, so that lines and columns stay."""
    return what.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def line_of(text: str, place: int) -> int:
    """The line in which a character stands."""
    return text.count("\n", 0, place) + 1
