"""Tokenizers of files of tiktoken's ranks."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import drapps
from drapps.cli import main
from drapps.errors import DataNotFoundError, PipelineError
from drapps.tokenizers.rank_files import ENCODINGS

tiktoken = pytest.importorskip("tiktoken")

WORDS = [bytes([byte]) for byte in range(256)] + [b"th", b" th", b"the", b" the", b"er", b"ll"]
TEXT = "the teller 123 <|endoftext|> don't\n\n  \u4e2d\u6587"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.tiktoken"
    lines = [base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(WORDS)]
    path.write_bytes(b"".join(lines))
    return path


def encoding_of(pattern: str, specials: dict[str, int]) -> Any:
    ranks = {word: rank for rank, word in enumerate(WORDS)}
    return tiktoken.Encoding(
        "words", pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials
    )


def test_named_encodings_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    for reads in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(public, reads, lambda *_, **__: {})
    theirs = {name: make() for name, make in public.ENCODING_CONSTRUCTORS.items()}
    assert ENCODINGS.keys() == theirs.keys()
    for name, (pattern, specials) in ENCODINGS.items():
        assert (pattern, specials) == (theirs[name]["pat_str"], theirs[name]["special_tokens"])


@pytest.mark.parametrize("name", ENCODINGS)
def test_ids_are_those_of_an_encoding(file: Path, name: str) -> None:
    ours = drapps.tokenizer(file, encoding=name)
    assert (ours.native, ours.reason) == (True, "")
    pattern, specials = ENCODINGS[name]
    stock = encoding_of(pattern, dict(specials))
    assert ours.encode(TEXT) == stock.encode_ordinary(TEXT)
    assert ours.encode(TEXT, allowed_special="all") == stock.encode(TEXT, allowed_special="all")
    assert ours.decode(ours.encode(TEXT)) == TEXT
    assert ours.digest == drapps.tokenizer(stock).digest


def test_an_id_of_two_special_tokens_is_decoded_as_tiktoken_does(file: Path) -> None:
    for names in (("A", "B"), ("B", "A"), ("zz", "a"), ("a", "zz")):
        specials = dict.fromkeys(names, 300)
        stock = encoding_of(ENCODINGS["gpt2"][0], specials)
        for ours in (
            drapps.tokenizer(stock),
            drapps.tokenizer(file, pattern=ENCODINGS["gpt2"][0], special_tokens=specials),
        ):
            assert ours.native
            assert ours.decode([300]) == stock.decode([300])
            text = "the A zz B a"
            ids = stock.encode(text, allowed_special="all")
            assert ours.encode(text, allowed_special="all") == ids


def test_another_encoding_is_given_by_its_pattern(file: Path) -> None:
    pattern = ENCODINGS["cl100k_base"][0]
    ours = drapps.tokenizer(str(file), pattern=pattern, special_tokens={"<|end|>": 300})
    assert ours.native
    text = "the<|end|>"
    wanted = encoding_of(pattern, {"<|end|>": 300}).encode(text, allowed_special="all")
    assert ours.encode(text, allowed_special="all") == wanted
    file.unlink()
    assert pickle.loads(pickle.dumps(ours)).encode(text, allowed_special="all") == wanted


def test_what_is_not_exact_is_left_to_tiktoken(file: Path) -> None:
    ours = drapps.tokenizer(file, pattern=r"\w+|\W+", special_tokens={})
    assert not ours.native
    assert ours.encode(TEXT) == encoding_of(r"\w+|\W+", {}).encode_ordinary(TEXT)


def test_what_is_no_file_of_ranks_is_refused(file: Path, tmp_path: Path) -> None:
    for content, message in (
        (b"dGhl 0\ndGhl\n", r"damaged:2: b'dGhl' is no token in base64"),
        (b"dG%l 0\n", r"damaged:1:"),
        (b"dGhl x\n", r"damaged:1:"),
        (b"", "no ranks in it"),
        (b"dGhl -1\n", "damaged"),
        (b"dGhl 99999999999\n", "damaged"),
    ):
        damaged = tmp_path / "damaged"
        damaged.write_bytes(content)
        with pytest.raises(PipelineError, match=message):
            drapps.tokenizer(damaged, encoding="cl100k_base")
    with pytest.raises(DataNotFoundError, match="no such file"):
        drapps.tokenizer(tmp_path / "none", encoding="cl100k_base")
    with pytest.raises(PipelineError, match="name its encoding"):
        drapps.tokenizer(file)


def test_arguments(file: Path) -> None:
    tokens = {"<|end|>": 300}
    for options, message in (
        ({"encoding": "cl1000k"}, "must be one of gpt2, "),
        ({"encoding": "gpt2", "pattern": "x"}, "leave out one"),
        ({"pattern": "x"}, "go together"),
        ({"special_tokens": tokens}, "go together"),
        ({"pattern": "x", "special_tokens": {"a": -1}}, "must be a whole number"),
        ({"pattern": "x", "special_tokens": {3: 1}}, "no text"),
    ):
        with pytest.raises(PipelineError, match=message):
            drapps.tokenizer(file, **options)
    with pytest.raises(PipelineError, match="of a file of ranks"):
        drapps.tokenizer(encoding_of("x", {}), encoding="gpt2")


def test_the_check_takes_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tokenizer", "check", str(file), "--encoding", "cl100k_base", "--json"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["native"] and facts["exact"]
    assert main(words[:3]) == 1
    assert "name its encoding" in capsys.readouterr().err
