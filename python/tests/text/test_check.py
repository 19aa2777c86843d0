"""`drapps tokenizer check` says where a tokenizer is exact, and fails where it is not."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

from benchmarks.tokenizers import vocabularies
from drapps.cli import main
from drapps.tokenizers import check, stock
from python.tests.text.test_oracle import own_text


def small() -> Path:
    return vocabularies.trained("gpt2", 1000, own_text())


@pytest.fixture(autouse=True)
def few_contexts(monkeypatch):
    monkeypatch.setattr(check, "CONTEXTS", ("{c}",))


def answer(capsys: Any, *words: str) -> tuple[int, dict[str, Any], str]:
    status = main(["tokenizer", "check", *words, "--json"])
    out, error = capsys.readouterr()
    return status, json.loads(out), error


def test_what_is_exact_is_said(capsys, monkeypatch, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/text").write_bytes(b"some text\xff")
    status, facts, _ = answer(capsys, str(small()), "--text", str(tmp_path))
    assert (status, facts["native"], facts["exact"]) == (0, True, True)
    kinds = {each["name"]: each for each in facts["kinds"]}
    assert list(kinds) == [
        "tokens of the vocabulary", "characters", "strings by chance", "your text",
    ]  # fmt: skip
    assert kinds["your text"]["bytes"] == len(b"some text\xef\xbf\xbd")
    assert all(each["ours"] > 0 and each["stock"] > 0 for each in kinds.values())
    characters = check.character_texts
    monkeypatch.setattr(check, "character_texts", lambda: islice(characters(), 9))
    assert main(["tokenizer", "check", str(small())]) == 0
    assert "characters: exact;" in capsys.readouterr().out


def test_what_differs_is_shortened_and_fails(capsys, monkeypatch):
    stocks = stock.StockTokenizers.encode

    def differs(self: Any, text: Any, specials: bool, allowed: Any) -> list[int]:
        ids = stocks(self, text, specials, allowed)
        return ids[1:] if "\u20ac" in text else ids

    monkeypatch.setattr(stock.StockTokenizers, "encode", differs)
    status, facts, error = answer(capsys, str(small()))
    assert (status, facts["native"], facts["exact"]) == (1, True, False)
    assert "is not exact here" in error
    assert {each["name"]: each["differ"] for each in facts["kinds"]}["characters"] == "\u20ac"


def test_what_is_refused_is_said_and_fails(capsys, tmp_path):
    described = json.loads(small().read_text("utf-8")) | {"normalizer": {"type": "Lowercase"}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(described), encoding="utf-8")
    status, facts, error = answer(capsys, str(path))
    assert (status, facts["native"], facts["kinds"]) == (1, False, [])
    assert facts["reason"] == "the normalizer Lowercase"
    assert "the normalizer Lowercase" in error


def test_what_is_not_there_is_named(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(check, "CONTEXTS", ())  # the text is looked for behind all else
    nothing = str(tmp_path / "nothing")
    assert main(["tokenizer", "check", nothing]) == 1
    assert f"{nothing}: there is no such file" in capsys.readouterr().err
    assert main(["tokenizer", "check", str(small()), "--text", nothing]) == 1
    assert f"{nothing}: there is no text in it" in capsys.readouterr().err
