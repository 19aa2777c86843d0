"""Text is brought into a normal form as `tokenizers` does it, whose Unicode has a version too."""

from __future__ import annotations

import json
import random
import unicodedata
from functools import cache
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")

from benchmarks.tokenizers import vocabularies  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.text import strings  # noqa: E402
from python.tests.text.comparing import ours  # noqa: E402
from python.tests.text.test_oracle import own_text  # noqa: E402

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
MARKS = [c for c in strings.code_points() if unicodedata.combining(c)]
JAMO = "".join(map(chr, [*range(0x1100, 0x1120), *range(0x1160, 0x1178), *range(0x11A6, 0x11C6)]))


@cache
def pair_of(form: str) -> tuple[Any, Any]:
    """The oracle's normalizer, and a tokenizer of ours that has it."""
    file = json.loads(vocabularies.trained("gpt2", 1000, own_text()).read_text("utf-8"))
    file |= {"normalizer": {"type": form}, "added_tokens": []}
    tokenizer = ours(tokenizers.Tokenizer.from_str(json.dumps(file)))
    assert tokenizer.native, tokenizer.reason
    return getattr(tokenizers.normalizers, form)(), tokenizer


def compare(form: str, texts: list[str]) -> None:
    normalizer, tokenizer = pair_of(form)
    encoded = tokenizer.encode_batch(texts)
    for place, text in enumerate(texts):
        wanted = normalizer.normalize_str(text)
        assert tokenizer.decode(encoded[place]) == wanted, ascii(text[:200])


def marked(seed: int, count: int) -> list[str]:
    """Letters that have decompositions and marks of all classes, and the pieces of Hangul."""
    draws = random.Random(seed)
    points = strings.code_points()
    whole = [c for c in points[:0x30000] if unicodedata.decomposition(c)]
    pools = [
        whole,
        MARKS,
        MARKS[:80],
        JAMO,
        "aeiou \u03b1",
        [chr(0xAC00 + 28 * n) for n in range(9)],
    ]
    return [
        "".join(draws.choice(draws.choice(pools)) for _ in range(draws.choice((2, 3, 5, 9, 40))))
        for _ in range(count)
    ]


@pytest.mark.parametrize("form", some_full(FORMS, "NFC", "NFKD"))
def test_every_code_point_alone_and_before_a_mark(form):
    points = strings.code_points()
    pieces = [points[place : place + 2000] for place in range(0, len(points), 2000)]
    compare(form, ["\n".join(piece) for piece in pieces])
    compare(form, ["\u0301".join(piece) for piece in pieces[:20]])


@pytest.mark.parametrize("form", FORMS)
def test_marks_and_hangul_by_chance(form):
    compare(form, marked(seed=4, count=3000))
    compare(form, list(strings.drawn(seed=5, count=500)))


@pytest.mark.full
@pytest.mark.parametrize("form", FORMS)
def test_half_a_million_strings(form):
    for seed in range(100, 125):
        compare(form, marked(seed, count=20_000))
    for mark in MARKS:
        compare(form, ["".join(f"a{mark}{other}\u00e9{other}{mark}" for other in MARKS)])
