"""Strings that no text has: of every category, in every neighbourhood, drawn by seed."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e" + "".join(
    map(chr, range(0x2000, 0x200C))
)
SPACES += "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
JOINERS = "\u200c\u200d\u2060\u034f\ufe0e\ufe0f\u0301\u0308\u20e3\U0001f3fb\U000e0062"
FOLDED = "sStTmMdDlLrRvVeE\u017f\u212a\u0130\u0131\u1e9e\u00df"  # what contractions may be told by
CONTRACTIONS = (
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
    "'S",
    "'RE",
    "'lL",
    "'\u017f",
    "\u2019s",
)
CONTEXTS = (
    *("{c}", "{c}{c}", " {c}", "  {c}", "{c} ", "{c}  a", "a{c}", "{c}a", "A{c}a", "aB{c}Cd"),
    *("1{c}", "{c}1", "12{c}34", "!{c}", "{c}!", " !{c}/", "\n{c}", "{c}\n", "{c}\r\n\n{c}"),
    *(
        "'{c}",
        "{c}'s",
        "'{c}e",
        "a'{c}",
        "'l{c}",
        "\u0301{c}",
        "{c}\u0301",
        "\u4e2d{c}\u6587",
        "\0{c}\0",
    ),
)
FEW_CONTEXTS = ("a{c}b", " {c}", "1{c}2", "!{c}?", "{c} \n", "'{c}", "A{c}a", "{c}{c}")


@cache
def code_points() -> str:
    """Every code point but the surrogates."""
    return "".join(chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)


@cache
def classes() -> dict[str, str]:
    """Code points by category, and those that patterns treat as others of their category."""
    categories: defaultdict[str, list[str]] = defaultdict(list)
    for letter in code_points():
        categories[unicodedata.category(letter)].append(letter)
    return {name: "".join(letters) for name, letters in sorted(categories.items())} | {
        "spaces": SPACES,
        "joiners": JOINERS,
        "folded": FOLDED,
        "han": "".join(map(chr, range(0x4E00, 0xA000))),
        "kana": "".join(map(chr, range(0x3040, 0x3100))),
        "hangul": "".join(map(chr, [*range(0x1100, 0x1200), *range(0xAC00, 0xD7A4)])),
        "right to left": "".join(map(chr, range(0x590, 0x780))),
        "indic": "".join(map(chr, range(0x900, 0xE00))),
        "emoji": "".join(map(chr, range(0x1F300, 0x1F700))) + JOINERS,
        "controls": "".join(map(chr, range(0x20))),
    }


def samples(per_class: int) -> str:
    """The ends of each class, and so many of it by chance."""
    draws = random.Random(45)
    kept = []
    for letters in classes().values():
        kept += [letters[0], letters[-1], *draws.choices(letters, k=per_class)]
    return "".join(dict.fromkeys(kept))


def neighbourhoods(
    letters: str, together: int, contexts: Sequence[str] = CONTEXTS
) -> Iterator[str]:
    """Each letter in each context: so many letters to a string, a context to each."""
    for context in contexts:
        for begin in range(0, len(letters), together):
            yield "\n".join(context.format(c=c) for c in letters[begin : begin + together])


def drawn(seed: int, count: int) -> Iterator[str]:
    """Strings of a few kinds of letters each: most short, some of thousands."""
    draws = random.Random(seed)
    pools: list[str | tuple[str, ...]] = [
        *classes().values(),
        *(SPACES, JOINERS, FOLDED, CONTRACTIONS),
        *(
            "\0",
            " ",
            "\n",
            "\r\n",
            "a",
            "etaoin",
            "ABCdef",
            "0123456789",
            "+-*/=<>()[]{}#_.,;:!?\"'",
        ),
    ]
    for _ in range(count):
        kinds = draws.choices(pools, k=draws.randint(1, 4))
        longest = draws.choice((3, 8, 30, 30, 100)) if draws.random() < 0.998 else 5000
        pieces: list[str] = []
        for _ in range(draws.randint(0, longest)):
            again = draws.choice((1, 1, 1, 1, 2, 3, 7, 20)) if draws.random() < 0.2 else 1
            pieces.append(draws.choice(draws.choice(kinds)) * again)
        yield "".join(pieces)
