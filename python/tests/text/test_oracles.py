"""Versions of the libraries that nobody has swept yet are swept, once."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tokenizers")

import drapps
from benchmarks.tokenizers import vocabularies
from drapps.tokenizers import oracles
from python.tests.text.test_oracle import own_text


@pytest.fixture
def version(monkeypatch, tmp_path):
    """Has another version installed, whose sweep comes to something; counts sweeps."""
    swept: list[str] = []

    def set_version(number: str, digest: str = "") -> list[str]:
        def digest_of(library: str) -> str:
            swept.append(library)
            return digest

        monkeypatch.setattr(oracles, "installed", lambda _: number)
        monkeypatch.setattr(oracles, "digest_of", digest_of)
        oracles.difference.cache_clear()
        return swept

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield set_version
    oracles.difference.cache_clear()


def make_tokenizer() -> Any:
    return drapps.tokenizer(vocabularies.trained("gpt2", 1000, own_text()))


def test_a_known_version_is_not_swept(version):
    swept = version(oracles.SWEPT["tokenizers"])
    assert make_tokenizer().native
    assert make_tokenizer().oracle == f"tokenizers {oracles.SWEPT['tokenizers']}"
    assert swept == []


def test_another_version_is_swept_once(version):
    swept = version("99.0", oracles.DIGESTS["tokenizers"])
    assert make_tokenizer().native
    oracles.difference.cache_clear()  # as in another process
    assert make_tokenizer().native
    assert swept == ["tokenizers"]
    assert make_tokenizer().oracle == "tokenizers 99.0, which was swept here"
    version("99.1", oracles.DIGESTS["tokenizers"])
    assert make_tokenizer().native
    assert swept == ["tokenizers"] * 2


def test_other_unicode_is_left_to_the_library(version):
    version("99.0", "another")
    tokenizer = make_tokenizer()
    assert not tokenizer.native
    assert tokenizer.reason.startswith("the Unicode of tokenizers 99.0, which is not that of ")
    assert drapps.tokenizer(vocabularies.real_encoding("cl100k")).reason.startswith(
        "the Unicode of tiktoken 99.0"
    )
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(vocabularies.trained("gpt2", 1000, own_text()))
    )
    assert drapps.tokenizer(fast).reason == tokenizer.reason


def test_a_cache_folder_that_cannot_be_written_is_done_without(version, monkeypatch):
    swept = version("99.0", oracles.DIGESTS["tokenizers"])
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert make_tokenizer().native
    assert swept == ["tokenizers"]


def test_without_a_library_the_tables_serve(version):
    swept = version("")
    assert make_tokenizer().native
    assert make_tokenizer().oracle.endswith(", as none is installed")
    assert swept == []


@pytest.mark.parametrize(
    "library", ["tiktoken", pytest.param("tokenizers", marks=pytest.mark.full)]
)
def test_a_sweep_of_what_is_installed_comes_to_what_is_known(library):
    if oracles.installed(library) != oracles.SWEPT[library]:
        pytest.skip(f"another version of {library} is installed")
    assert oracles.digest_of(library) == oracles.DIGESTS[library]
