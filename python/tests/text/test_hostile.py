"""Files and texts that were made to hurt: a sentence, and an end."""

from __future__ import annotations

import json
import random
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tokenizers = pytest.importorskip("tokenizers")

import drapps  # noqa: E402
from benchmarks.tokenizers import hostile, vocabularies  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.text import strings  # noqa: E402
from python.tests.text.comparing import ours  # noqa: E402
from python.tests.text.test_oracle import own_text  # noqa: E402

MB = 1 << 20


def small(pattern: str = "gpt2") -> Path:
    return vocabularies.trained(pattern, 1000, own_text())


def described(**changes: Any) -> Any:
    return json.loads(small().read_text("utf-8")) | changes


def test_a_file_that_ends_anywhere_is_refused_with_its_name(tmp_path):
    content = small().read_bytes()
    path = tmp_path / "tokenizer.json"
    for size in random.Random(3).sample(range(len(content) - 1), 40):
        path.write_bytes(content[:size])
        with pytest.raises(drapps.PipelineError, match=str(path)):
            drapps.tokenizer(path)


def test_bytes_by_chance_in_a_file_are_refused_or_left_or_right(tmp_path):
    content, draws = small().read_bytes(), random.Random(4)
    path = tmp_path / "tokenizer.json"
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(draws.randint(1, 5)):
            damaged[draws.randrange(len(damaged))] = draws.randrange(256)
        path.write_bytes(damaged)
        try:
            codec = drapps.tokenizer(path)
        except drapps.PipelineError:
            continue
        if codec.native:  # then the oracle reads it too, and has the same ids
            stock = tokenizers.Tokenizer.from_file(str(path))
            assert codec.encode("the text, 12 of it") == stock.encode("the text, 12 of it").ids


def test_a_file_too_large_is_not_read(tmp_path):
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(drapps.PipelineError, match=f"{path}: has {1 << 30} bytes"):
        drapps.tokenizer(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_vocabulary_without_end_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    tokens = ",".join(f'"{number}":{number}' for number in range(1 << 20))
    path.write_text(f'{{"model": {{"type": "BPE", "vocab": {{{tokens},"x":0')
    with pytest.raises(drapps.PipelineError, match=f"{path}: .*more in it than a million tokens"):
        drapps.tokenizer(path)


def test_merges_in_a_circle_end():
    """Each token is what the other two become, whatever their bytes say."""
    file = described(added_tokens=[])
    tokens = {"a": 0, "aa": 1, "aaa": 2, "aaaa": 3}
    file["model"] |= {
        "vocab": tokens,
        "merges": [["aa", "a"], ["a", "aa"], ["aa", "aa"], ["a", "a"]],
    }
    stock = tokenizers.Tokenizer.from_str(json.dumps(file))
    codec = ours(stock)
    assert codec.native
    for size in (1, 2, 3, 5, 100, 3000):
        assert codec.encode("a" * size) == stock.encode("a" * size).ids


@pytest.mark.parametrize("number", [-1, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1.5, "x", None])
def test_ids_that_none_can_be_are_named(number, tmp_path):
    file = described()
    file["model"]["vocab"]["zzz"] = number
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    try:
        codec = drapps.tokenizer(path)
    except drapps.PipelineError as error:
        assert "zzz" in str(error) or "cannot read it either" in str(error)
    else:
        assert not codec.native
        assert str(number) in codec.reason


@pytest.mark.parametrize(
    "name",
    some_full(
        hostile.INPUTS,
        *("one letter", "one random word", "Fibonacci word", "words that come once"),
        *("white space", "contractions", "combining marks", "random bytes"),
    ),
)
def test_hostile_texts_end(name):
    """Their time is O(n log n): a quadratic one would take hours for the first of them."""
    tokenizer = drapps.tokenizer(small("llama3"))
    data = hostile.make(name, MB // 2)
    encoded = tokenizer.encode_batch([data])
    assert tokenizer.decode(encoded[0]) == data.decode("utf-8", "replace")


@pytest.mark.full
@pytest.mark.parametrize("pattern", vocabularies.HUGGING_FACE)
@pytest.mark.parametrize("name", hostile.INPUTS)
def test_sixteen_megabytes_of_them_end(name, pattern):
    tokenizer = drapps.tokenizer(small(pattern))
    data = hostile.make(name, 16 * MB)
    encoded = tokenizer.encode_batch([data])
    assert tokenizer.decode(encoded[0]) == data.decode("utf-8", "replace")


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_a_text_of_marks_is_normalised_in_time(form):
    codec = ours(tokenizers.Tokenizer.from_str(json.dumps(described(normalizer={"type": form}))))
    assert codec.native
    text = "".join(random.Random(5).choices("\u0301\u0316\u0327\u0345\u05b0", k=MB // 2))
    normal = getattr(tokenizers.normalizers, form)()
    assert codec.decode(codec.encode(text)) == normal.normalize_str(text)


@pytest.mark.parametrize("native", [True, False])
def test_a_stream_gives_what_decode_gives(native):
    file = described(normalizer=None if native else {"type": "Lowercase"})
    codec = ours(tokenizers.Tokenizer.from_str(json.dumps(file)))
    assert codec.native == native
    text = "caf\u00e9 \U0001f468\u200d\U0001f469 \u4e2d\u6587<|endoftext|> end"
    ids = [*codec.encode(text), codec.encode("\u4e2d")[0]]  # ends within a character
    stream = codec.stream()
    for _ in range(2):
        pieces = [stream.add(number) for number in ids] + [stream.end()]
        assert "".join(pieces) == codec.decode(ids)
        assert pieces[-1] == "\ufffd"
        assert len([piece for piece in pieces if piece]) > 5
    assert stream.add(np.array(ids[:3])) + stream.end() == codec.decode(ids[:3])
    kept = codec.stream(skip_special_tokens=False)
    assert kept.add(ids) + kept.end() == codec.decode(ids, skip_special_tokens=False)


def test_a_stream_of_tiktoken_says_which_id_is_none():
    stream = drapps.tokenizer(vocabularies.real_encoding("cl100k")).stream()
    assert stream.add([9906, 1917]) == "Hello world"
    with pytest.raises(drapps.PipelineError, match="no token has the id 999999"):
        stream.add(999999)


def test_texts_by_chance_come_back_from_bytes():
    codec = drapps.tokenizer(small())
    for text in strings.drawn(seed=17, count=100):
        assert codec.decode(codec.encode(text), False) == text
