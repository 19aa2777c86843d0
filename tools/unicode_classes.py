"""Writes src/drapps/text/unicode/class_runs.cc: the Unicode classes as the oracles have them.

Each code point goes through `tokenizers`' and `tiktoken`'s own regular expressions; where the two
differ, nothing is written. Run it with both installed: python tools/unicode_classes.py
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import sys

import tiktoken
import tokenizers
from tokenizers import pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/drapps/text/unicode/class_runs.cc"
# The bits of CharClass (text/unicode/classes.h), lowest first.
CLASSES = (
    r"\p{L}",
    r"\p{N}",
    r"\s",
    r"\p{M}",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    r"[\p{P}\p{S}]",
)
CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
EVERYTHING = "".join(map(chr, CODE_POINTS))


def of_tokenizers(pattern: str) -> set[int]:
    """The code points that the class has in `tokenizers`."""
    split = pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    return {ord(char) for piece, _ in split.pre_tokenize_str(EVERYTHING) for char in piece}


def of_tiktoken(pattern: str) -> set[int]:
    """The code points that the class has in `tiktoken`, which drops what its pattern leaves out."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("sweep", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return set(map(ord, bytes(encoding.encode_ordinary(EVERYTHING)).decode()))


def swept() -> list[int]:
    """The class bits of every code point."""
    bits = [0] * 0x110000
    for bit, pattern in enumerate(CLASSES):
        members = of_tokenizers(pattern)
        if members != of_tiktoken(pattern):
            sys.exit(f"tokenizers and tiktoken differ on {pattern}: one table cannot serve both")
        for point in members:
            bits[point] |= 1 << bit
    return bits


def main() -> None:
    """Writes the table."""
    bits = swept()
    runs = [
        point << 8 | bits[point]
        for point in range(0x110000)
        if not point or bits[point] != bits[point - 1]
    ]
    versions = " and ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("tokenizers", "tiktoken")
    )
    lines, line = [], " "
    for run in runs:
        item = f" {run:#x},"
        if len(line) + len(item) > 120:
            lines.append(line)
            line = " "
        line += item
    lines.append(line)
    TARGET.write_text(
        "\n".join(
            [
                "// Written by tools/unicode_classes.py from the classes of",
                f"// {versions}.",
                '#include "drapps/text/unicode/classes.h"',
                "",
                "namespace drapps::text {",
                "",
                "// clang-format off",
                "constexpr std::uint32_t kRuns[] = {",
                *lines,
                "};",
                "// clang-format on",
                "",
                "const std::span<const std::uint32_t> kClassRuns = kRuns;",
                "",
                "}  // namespace drapps::text",
                "",
            ]
        )
    )


if __name__ == "__main__":
    main()
