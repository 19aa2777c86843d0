"""Writes src/drapps/text/unicode/form_tables.cc: normal forms of Unicode as `tokenizers` has them.

Each code point goes through its normalizers, and each mark beside marks of every other combining
class, so that the tables are of the Unicode version that the oracle was built with. Run it with
that installed: python tools/unicode_forms.py
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import unicodedata

from tokenizers import normalizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/drapps/text/unicode/form_tables.cc"
POINTS = [chr(point) for point in [*range(0xD800), *range(0xE000, 0x110000)]]
HANGUL = {chr(point) for point in range(0xAC00, 0xD7A4)}
# Vowels and finals, which compose with what stands before them.
JAMO = {chr(point) for point in [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]}
# The bits of kFormRuns (text/unicode/normalize.h), in the order of Form.
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def of_each(form: str, texts: list[str]) -> list[str]:
    """Each text in that form, by the oracle."""
    normal = getattr(normalizers, form)()
    forms: list[str] = normal.normalize_str("\0".join(texts)).split("\0")
    assert len(forms) == len(texts)
    return forms


def in_form(form: str) -> dict[str, str]:
    """Every code point in that form."""
    others = [char for char in POINTS if char != "\0"]
    return {"\0": "\0"} | dict(zip(others, of_each(form, others), strict=True))


def combining(decomposed: dict[str, str]) -> dict[str, int]:
    """The combining class of each mark: which marks it goes before."""
    plain = [char for char in POINTS if char != "\0" and decomposed[char] == char]
    last = "\u0345"  # whose class is the highest
    behind = of_each("NFD", [f"a{last}{char}" for char in plain])
    moved = [char for char, form in zip(plain, behind, strict=True) if form == f"a{char}{last}"]
    classes = dict.fromkeys(moved, 0) | {last: 240}
    marks: dict[int, str] = {}  # one of each class that the oracle knows
    for char in moved:
        if unicodedata.combining(char):
            marks.setdefault(unicodedata.combining(char), char)
    for number, mark in sorted(marks.items()):
        forms = of_each("NFD", [f"a{mark}{char}" for char in moved])
        for char, text in zip(moved, forms, strict=True):
            if text == f"a{mark}{char}":
                classes[char] = number
    assert 0 not in classes.values()
    return classes


def compositions(decomposed: dict[str, str]) -> dict[tuple[str, str], str]:
    """Which two characters become which."""
    composed = normalizers.NFC().normalize_str
    pairs = {}
    for char, parts in decomposed.items():
        if char in HANGUL or len(parts) < 2 or composed(parts) != char:
            continue
        first = composed(parts[:-1])
        assert len(first) == 1 and composed(first + parts[-1]) == char
        pairs[first, parts[-1]] = char
    return pairs


def rows(words: list[int]) -> list[str]:
    """Lines of an array."""
    lines, line = [], " "
    for word in words:
        item = f" {word:#x},"
        if len(line) + len(item) > 120:
            lines.append(line)
            line = " "
        line += item
    return [*lines, line]


def runs(values: dict[str, int]) -> list[int]:
    """Where a value of the code points changes."""
    changes: list[int] = []
    before = -1
    for point in range(0x110000):
        value = values.get(chr(point), 0)
        if value != before:
            changes.append(point << 8 | value)
        before = value
    return changes


def main() -> None:
    """Writes the tables."""
    forms = {form: in_form(form) for form in FORMS}
    classes = combining(forms["NFD"])
    pairs = compositions(forms["NFD"])
    seconds = JAMO | {second for _, second in pairs}
    bits = dict.fromkeys(POINTS, 0)
    for place, form in enumerate(FORMS):
        parts = forms["NFKD" if "K" in form else "NFD"]
        for char in POINTS:
            first = parts[char][0]
            begins = first not in classes and not (form.endswith("C") and first in seconds)
            keeps = begins and forms[form][char] == char and char not in classes
            bits[char] |= (keeps << place) | (begins << (place + 4))
    parts_of: list[int] = []
    for kind, form in ((0, "NFD"), (1, "NFKD")):
        for char, parts in forms[form].items():
            if char not in HANGUL and parts != (forms["NFD"][char] if kind else char):
                parts_of += [ord(char) << 8 | kind << 7 | len(parts), *map(ord, parts)]
    pairs_of = [ord(each) for (a, b), c in sorted(pairs.items()) for each in (a, b, c)]
    tables = {
        "kFormRuns": runs(bits),
        "kCombiningRuns": runs(classes),
        "kDecompositions": parts_of,
        "kCompositions": pairs_of,
    }
    lines = [
        "// Written by tools/unicode_forms.py from the normalizers of",
        f"// tokenizers {importlib.metadata.version('tokenizers')}; as long as the tables are.",
        '#include "drapps/text/unicode/form_tables.h"',
        "",
        "namespace drapps::text {",
        "",
        "// clang-format off",
    ]
    for name, words in tables.items():
        lines += [f"constexpr std::uint32_t {name}Words[] = {{", *rows(words), "};"]
    lines += ["// clang-format on", ""]
    lines += [f"const std::span<const std::uint32_t> {name} = {name}Words;" for name in tables]
    TARGET.write_text("\n".join([*lines, "", "}  // namespace drapps::text", ""]))


if __name__ == "__main__":
    main()
