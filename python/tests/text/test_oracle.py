"""The ids of `drapps.tokenizer` are its oracle's: `tokenizers` of a tokenizer.json, else tiktoken.

The quick run reads the project's own text and generated strings; the full one real text in many
languages and every code point too.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers")
pytest.importorskip("tiktoken")
pytest.importorskip("quicktok", reason="the real vocabularies come with quicktok-v1")

from benchmarks.contestant import ROOT
from benchmarks.tokenizers import corpora, hostile, vocabularies
from python.tests.cells import some_full
from python.tests.text import strings
from python.tests.text.comparing import Sides, Subject, encoded, ours

MB = 1_000_000


def own_text() -> Path:
    """The project's own text, to train on."""
    file = vocabularies.PLACE / "own.txt"
    if not file.is_file():
        kinds = ("*.md", "docs/**/*.md", "src/**/*.h", "python/drapps/**/*.py")
        texts = (each.read_text("utf-8") for kind in kinds for each in sorted(ROOT.glob(kind)))
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".part")
        new.write_text("\0".join(texts), encoding="utf-8")
        new.replace(file)
    return file


def mixed_text() -> Path:
    """Some of every real text, to train large vocabularies on."""
    file = vocabularies.PLACE / "mixed.txt"
    if not file.is_file():
        parts = []
        for name in corpora.CORPORA:
            content = corpora.ensure(name).read_bytes()[: 3 * MB]
            parts.append(content.decode("utf-8", "ignore"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\0".join(parts), encoding="utf-8")
    return file


def small(pattern: str) -> Subject:
    return Subject(f"{pattern}-1000", lambda: vocabularies.trained(pattern, 1000, own_text()))


def large(pattern: str, size: int) -> Subject:
    return Subject(f"{pattern}-{size}", lambda: vocabularies.trained(pattern, size, mixed_text()))


def pairs(pattern: str) -> Subject:
    return Subject(f"{pattern}-pairs", lambda: vocabularies.pairs(pattern))


def pairs_encoding(pattern: str) -> Subject:
    return Subject(
        f"tiktoken-{pattern}-pairs",
        lambda: vocabularies.trained_encoding(pattern, vocabularies.pairs("gpt2")),
    )


def real(name: str) -> Subject:
    return Subject(name, lambda: vocabularies.real(name))


def real_encoding(name: str) -> Subject:
    return Subject(f"tiktoken-{name}", lambda: vocabularies.real_encoding(name))


R50K = Subject(
    "tiktoken-r50k-1000",
    lambda: vocabularies.trained_encoding("r50k", vocabularies.trained("gpt2", 1000, own_text())),
)
PAIRS = [*map(pairs, vocabularies.HUGGING_FACE), *map(pairs_encoding, vocabularies.TIKTOKEN)]
OWN_PAIRS = ("tiktoken-r50k-pairs", "tiktoken-cl100k-pairs")  # whose patterns are in QUICK, too
CUTTING = some_full(PAIRS, *(each for each in PAIRS if each.name not in OWN_PAIRS))
SMALL = [*map(small, vocabularies.HUGGING_FACE)]
REAL = [*map(real_encoding, ("cl100k", "o200k"))]
# The others have patterns that vocabularies of pairs have too, or are long to convert.
QUICK = some_full(
    [*SMALL, R50K, *REAL, real("llama3")],
    *(each for each in SMALL if each.name in ("gpt2-1000", "llama3-1000")),
    *(R50K, *REAL),
)
LARGE = [
    *map(real, ("cl100k", "o200k", "qwen3")),
    *(
        large(each, size)
        for each in vocabularies.HUGGING_FACE
        for size in (32_000, 50_257, 200_000)
    ),
]
FULL = [*QUICK, *(pytest.param(each, marks=pytest.mark.full) for each in LARGE)]
INSIDE = [
    "",
    " ",
    "\0",
    "<|endoftext|>",
    "a <|endoftext|>\n<|endoftext|> b<|endoftext|>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
    "<|im_start|>user\nHi <|im_end|> <think>\n</think>",
    "<|endoftext",
    "cafe\u0301 \u1100\u1161\u11a8 \u212b \u2126 \ufb01 \u0958",  # NFC changes these
]


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, Sides]]:
    """What was made of subjects so far in this file."""
    yield {}


def sides_of(subject: Subject, sides: dict[str, Sides]) -> Sides:
    ours_is_there()
    if subject.name not in sides:
        sides[subject.name] = Sides(subject)
    return sides[subject.name]


def ours_is_there() -> None:
    """Skips before anything is trained or downloaded for a build that has no tokenizer."""
    import drapps

    if not hasattr(drapps, "tokenizer"):
        pytest.skip("this build has no drapps.tokenizer")


@pytest.mark.parametrize("subject", FULL, ids=str)
def test_own_text(subject, sides):
    texts = own(subject, sides)
    assert sides_of(subject, sides).compare(texts) > 200_000


def own(subject, sides):
    """Every fifth file of the project's own text, which a vocabulary was trained on."""
    sides_of(subject, sides)
    return own_text().read_text("utf-8").split("\0")[::5]


@pytest.mark.parametrize("subject", FULL, ids=str)
def test_generated_strings(subject, sides):
    both = sides_of(subject, sides)
    assert both.compare([*INSIDE, *strings.drawn(seed=len(subject.name), count=2000)]) > 100_000


@pytest.mark.full
@pytest.mark.parametrize("subject", [*QUICK, *CUTTING, *LARGE], ids=str)
def test_a_hundred_thousand_generated_strings(subject, sides):
    both = sides_of(subject, sides)
    texts = strings.drawn(seed=1000 + len(subject.name), count=100_000)
    while batch := list(islice(texts, 5000)):
        both.compare(batch)


@pytest.mark.parametrize("subject", CUTTING, ids=str)
def test_each_class_of_code_points_in_each_neighbourhood(subject, sides):
    letters = strings.samples(per_class=6)
    assert sides_of(subject, sides).compare(list(strings.neighbourhoods(letters, 1))) > 10_000
    sides_of(subject, sides).compare(list(strings.drawn(seed=3, count=1000)))


@pytest.mark.full
@pytest.mark.parametrize("subject", CUTTING, ids=str)
def test_each_code_point_in_its_neighbourhoods(subject, sides):
    both = sides_of(subject, sides)
    texts = chain(
        strings.neighbourhoods(strings.code_points(), 256, strings.FEW_CONTEXTS),
        strings.neighbourhoods(strings.samples(per_class=200), 16),
    )
    while batch := list(islice(texts, 1000)):
        both.compare(batch)


@pytest.mark.full
@pytest.mark.parametrize("corpus", corpora.CORPORA)
@pytest.mark.parametrize("subject", [*QUICK, *LARGE], ids=str)
def test_real_text(subject, corpus, sides):
    texts, size = [], 0
    for document in corpora.documents(corpora.ensure(corpus)):
        texts.append(document.decode())
        size += len(document)
        if size >= 3 * MB:
            break
    assert sides_of(subject, sides).compare(texts) > MB // 2


@pytest.mark.full
def test_twelve_languages_have_three_megabytes():
    ours_is_there()
    sizes = {name: corpora.ensure(name).stat().st_size for name in corpora.LANGUAGES}
    assert sum(size >= 3 * MB for size in sizes.values()) >= 12, sizes


@pytest.mark.parametrize("size", [4096, pytest.param(hostile.SIZES[0], marks=pytest.mark.full)])
@pytest.mark.parametrize("subject", FULL, ids=str)
def test_hostile_inputs(subject, size, sides):
    both = sides_of(subject, sides)
    texts = (hostile.make(name, size).decode("utf-8", "replace") for name in hostile.INPUTS)
    both.compare(list(texts))


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_what_a_tokenizer_has_met_before_changes_nothing(subject, sides):
    both, texts = sides_of(subject, sides), list(strings.drawn(seed=6, count=300))
    fresh = Sides(subject)
    first = fresh.ids(texts)
    assert fresh.ids(texts[::-1])[::-1] == fresh.ids(texts) == first == both.ids(texts)


@pytest.mark.parametrize("threads", some_full([1, 2, 7], 7))
@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_any_number_of_threads_gives_the_same_ids(subject, threads, sides):
    texts = [*own(subject, sides)[:20], *INSIDE, *strings.drawn(seed=7, count=200)]
    sides_of(subject, sides).compare(texts, threads=threads)


@pytest.mark.parametrize(
    ("subject", "method"),
    some_full(
        [(subject, method) for subject in (SMALL[0], REAL[1]) for method in ("fork", "spawn")],
        *((SMALL[0], "spawn"), (REAL[1], "fork")),
    ),
    ids=str,
)
def test_another_process_gives_the_same_ids(subject, method, sides):
    both, texts = sides_of(subject, sides), list(strings.drawn(seed=12, count=100))
    wanted = both.ids(texts, threads=2)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(encoded, (both.ours, texts)).get(timeout=300) == wanted


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_a_text_has_the_same_ids_alone_as_in_a_batch(subject, sides):
    both = sides_of(subject, sides)
    texts = [*INSIDE, *strings.drawn(seed=8, count=200)]
    assert [list(both.ours.encode(text)) for text in texts] == both.ids(texts)


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_bytes_have_the_ids_of_what_they_decode_to(subject, sides):
    both = sides_of(subject, sides)
    texts = [text.encode() for text in strings.drawn(seed=9, count=200)]
    broken = [
        text[1:-1] + b"\xff\xc0\x80\xed\xa0\x80 \xf4\x90\x80\x80" + text[:2] for text in texts
    ]
    decoded = [text.decode("utf-8", "replace") for text in [*texts, *broken]]
    assert both.ids([*texts, *broken]) == both.stock.ids(decoded)


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_lone_surrogates_are_replacement_characters(subject, sides):
    both = sides_of(subject, sides)
    texts = ["\ud800", "a\udfff b", "\udc00\ud800 x", "\u4e2d\ud83d!"]
    replaced = ["".join("\ufffd" if "\ud800" <= c < "\ue000" else c for c in t) for t in texts]
    assert both.ids(texts) == both.stock.ids(replaced)


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_ids_decode_to_what_the_oracle_decodes_them_to(subject, sides):
    both = sides_of(subject, sides)
    for ids in both.stock.ids([*own(subject, sides)[:5], *strings.drawn(seed=10, count=200)]):
        assert both.ours.decode(ids) == both.stock.decode(ids)
        assert both.ours.decode(ids[1::2]) == both.stock.decode(ids[1::2])  # no whole characters


@pytest.mark.parametrize("subject", [*QUICK, *CUTTING], ids=str)
def test_strings_that_hypothesis_finds(subject, sides):
    both = sides_of(subject, sides)

    @settings(max_examples=40, deadline=None, database=None)
    @given(st.lists(st.text(), max_size=5))
    def same(texts: list[str]) -> None:
        both.compare(texts)

    same()


@pytest.mark.parametrize("allowed", ["all", {"<|endoftext|>"}, {"<|fim_prefix|>", "none"}, set()])
def test_special_tokens_of_tiktoken_are_found_where_they_are_allowed(allowed, sides):
    both = sides_of(real_encoding("cl100k"), sides)
    tokens = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|endofprompt|>", "<|endof"]
    around = list(strings.drawn(seed=13, count=100))
    texts = [
        *tokens,
        "".join(tokens),
        *map("{}<|endoftext|>{}<|fim_prefix|>".format, around, around),
    ]
    wanted = [both.stock.encode(text, allowed_special=allowed) for text in texts]
    assert [both.ours.encode(text, allowed_special=allowed) for text in texts] == wanted


def test_a_rank_file_alone_is_refused():
    ours_is_there()
    ranks = vocabularies.ranks_of("cl100k")
    with pytest.raises(ValueError, match="pattern"):
        ours(str(vocabularies.rank_file("cl100k", ranks)))
