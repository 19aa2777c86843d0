"""Scenario tokenizers: what it makes its inputs of."""

import gzip
import hashlib
import json

import pytest

from benchmarks.contestant import ContestantError
from benchmarks.tokenizers import corpora, hostile, markup, vocabularies

SHA256 = "38a506ccf9ec5b9f4792d34fbb41ff6e8348c58314ba7c3b801b35f05b691d7d"


def test_there_are_twenty_hostile_inputs_and_none_is_another():
    inputs = {name: hostile.make(name, 4096) for name in hostile.INPUTS}
    assert len(set(inputs.values())) == len(inputs) == 20


@pytest.mark.parametrize("name", hostile.INPUTS)
def test_a_hostile_input_has_its_length_and_is_text(name):
    content = hostile.make(name, 10_000)
    assert 10_000 - 4 < len(content) <= 10_000
    if name != "random bytes":
        content.decode()
    assert hostile.make(name, 10_000) == content


def test_hostile_inputs_are_the_same_for_ever():
    digest = hashlib.sha256(b"".join(hostile.make(name, 65_536) for name in hostile.INPUTS))
    assert digest.hexdigest() == SHA256


PAGE = """<html><head><title>No</title></head><body><!-- no --><p>One <b>and</b>
only &lt;paragraph&gt;</p><ul><li>First<li>Second</ul><script>no()</script><footer>no</footer>"""
MANUAL = """.\\" no
.TH LS 1 "2023"
.SH NAME
ls \\- list \\fBdirectory\\fR contents
.PP
It lists \\(lqfiles\\(rq."""


def test_pages_lose_their_markup(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    assert markup.paragraphs(file) == ["One and only <paragraph>", "First", "Second"]


def test_manual_pages_lose_their_requests(tmp_path):
    file = tmp_path / "ls.1.gz"
    file.write_bytes(gzip.compress(MANUAL.encode()))
    text = "\n\n".join(markup.paragraphs(file))
    assert "ls - list directory contents" in text
    assert "It lists files." in text
    assert not {"\\", ".SH", ".PP"} & set(text.split())


def a_corpus(folder, monkeypatch, dense):
    (folder / "a.txt").write_text("English\n\nEins\n\n\u4e2d\u6587")
    (folder / "b.txt").write_text("Eins\n\n\nZw\0ei\n\n\u65e5\u672c\u8a9e and more than that")
    (folder / "c.txt").write_text("Eins")
    monkeypatch.setattr(corpora, "_files", lambda part: [folder / name for name in part[1].split()])
    corpus = corpora.Corpus((("package", "a.txt b.txt c.txt"),), dense)
    return list(corpora._documents(corpus, {"English"}))


def test_no_paragraph_comes_twice_and_what_is_not_translated_never(tmp_path, monkeypatch):
    documents = a_corpus(tmp_path, monkeypatch, dense=False)
    assert documents == ["Eins\n\n\u4e2d\u6587", "Zwei\n\n\u65e5\u672c\u8a9e and more than that"]


def test_paragraphs_of_a_dense_script_are_hardly_ascii(tmp_path, monkeypatch):
    assert a_corpus(tmp_path, monkeypatch, dense=True) == ["\u4e2d\u6587"]


def test_a_package_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PLACE", tmp_path)
    monkeypatch.setattr(corpora, "ROOT", tmp_path)
    monkeypatch.setattr(corpora.shutil, "which", lambda _: None)
    with pytest.raises(ContestantError, match=r"put no-such-text_\*.deb into packages"):
        corpora._package("no-such-text")


@pytest.mark.full
def test_real_vocabularies_have_the_ids_of_the_package_that_carries_them():
    quicktok = pytest.importorskip("quicktok")
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    text = "Hello, it's 12345 caf\u00e9s\u2026 \u4e2d\u6587\n\n  for x in y:\r\n"
    for name in ("cl100k", "o200k"):
        wanted = list(quicktok.get_encoding(f"{name}_base").encode(text))
        assert vocabularies.real_encoding(name).encode_ordinary(text) == wanted
    tokenizer = tokenizers.Tokenizer.from_file(str(vocabularies.real("llama3")))
    assert tokenizer.encode(text).ids == [128000, *quicktok.get_encoding("llama3").encode(text)]
    merges = json.loads(vocabularies.real("llama3").read_text())["model"]["merges"]
    assert len(merges) == 280_147  # as the published file has


def test_merges_are_those_that_a_vocabulary_was_trained_with(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(vocabularies, "PLACE", tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("some words of some text that some train on " * 50)
    file = vocabularies.trained("gpt2", 280, text)
    model = json.loads(file.read_text())["model"]
    byte = {character: value for value, character in vocabularies._characters().items()}
    merges = [
        tuple(
            bytes(byte[c] for c in part)
            for part in (merge if isinstance(merge, list) else merge.split())
        )
        for merge in model["merges"]
    ]
    assert list(vocabularies._last_pairs(vocabularies.ranks_in(file))) == merges
    assert set(merges) <= set(vocabularies._all_pairs(vocabularies.ranks_in(file)))


def test_a_text_that_is_too_short_to_train_on_is_named(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(vocabularies, "PLACE", tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("ab ab ab")
    with pytest.raises(ValueError, match="train on more text"):
        vocabularies.trained("gpt2", 5000, text)
