"""Whatever else a tokenizer.json says: its ids are the oracle's, native or not, and why is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")

from benchmarks.tokenizers import vocabularies  # noqa: E402
from python.tests.text import strings  # noqa: E402
from python.tests.text.comparing import Sides, Subject, ours  # noqa: E402
from python.tests.text.test_oracle import INSIDE, own_text  # noqa: E402

Change = Callable[[dict[str, Any]], None]
ADDED = [
    *(
        "[A]",
        "[B] ",
        " C]",
        "D\n",
        "[A",
        "the",
        "\u00e9t\u00e9",
        "e\u0301",
        "  ",
        "\u4e2d",
        "[A][A]",
    ),
    *(
        "x[A]x [A]",
        "the then other the",
        "\ufb01[A]\u0301",
        "[a]",
        "[AB]",
        "The [A]the",
        "\u00a0[A]\t ",
    ),
]


def added(content: str, **flags: bool) -> Change:
    """One more added token."""

    def change(file: dict[str, Any]) -> None:
        numbers = [*file["model"]["vocab"].values(), *(each["id"] for each in file["added_tokens"])]
        token = {"id": max(numbers) + 1, "content": content, "special": True}
        plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        file["added_tokens"].append(token | plain | flags)

    return change


def model(**values: Any) -> Change:
    return lambda file: file["model"].update(values)


def top(**values: Any) -> Change:
    return lambda file: file.update(values)


def both(*changes: Change) -> Change:
    def change(file: dict[str, Any]) -> None:
        for each in changes:
            each(file)

    return change


def split(**values: Any) -> Change:
    """Other settings of the first step of the pretokenizer."""
    return lambda file: file["pre_tokenizer"]["pretokenizers"][0].update(values)


def without(tokens: str) -> Change:
    """Without these tokens of one character."""

    def change(file: dict[str, Any]) -> None:
        for token in tokens:
            del file["model"]["vocab"][token]

    return change


CHANGES: dict[str, Change] = {
    **{form: top(normalizer={"type": form}) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    "lower case": top(normalizer={"type": "Lowercase"}),
    "normalizers in turn": top(
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "NFC"}]}
    ),
    "no normalizers in turn": top(normalizer={"type": "Sequence", "normalizers": []}),
    "an added token": added("[A]"),
    "added, then longer": both(added("[A"), added("[A]"), added("[A][A]")),
    "added, strips left": added("[A]", lstrip=True),
    "added, strips right": added("[A]", rstrip=True),
    "added, strips both": added("[A]", lstrip=True, rstrip=True),
    "added, a single word": added("the", single_word=True),
    "added, not special": added("the", special=False),
    "added, normalized": both(
        top(normalizer={"type": "NFC"}), added("\u00e9t\u00e9", normalized=True)
    ),
    "added, not normalized": both(top(normalizer={"type": "NFC"}), added("e\u0301")),
    "added, white space": added("  "),
    "added, of the vocabulary": lambda file: file["added_tokens"].append(
        {**file["added_tokens"][0], "content": "t", "id": file["model"]["vocab"]["t"]}
    ),
    "ignored merges": model(ignore_merges=True),
    "an unknown token": model(unk_token="<|endoftext|>"),
    "fused unknown tokens": model(unk_token="<|endoftext|>", fuse_unk=True),
    "bytes for what is unknown": model(byte_fallback=True),
    "a suffix of words": model(end_of_word_suffix="</w>"),
    "an empty prefix": model(continuing_subword_prefix="", end_of_word_suffix=""),
    "no dropout": model(dropout=0.0),
    "a pattern of the user": split(pattern={"Regex": r"\p{L}+|\p{N}|[^\p{L}\p{N}]+"}),
    "a string to split at": split(pattern={"String": " "}),
    "pretokens removed": split(behavior="Removed"),
    "pretokens merged": split(behavior="MergedWithNext"),
    "an inverted pattern": split(invert=True),
    "cut short": top(
        truncation={
            "direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0,
        }
    ),
    "padded": top(
        padding={
            "strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "<|endoftext|>",
        }
    ),
    "merges left out": lambda file: file["model"].update(merges=file["model"]["merges"][:-400]),
    "merges as strings": lambda file: file["model"].update(
        merges=[" ".join(each) for each in file["model"]["merges"]]
    ),
    "bytes left out": without("\u0143\u0142"),
}  # fmt: skip


def changed(change: Change, folder: Any) -> Subject:
    file = json.loads(vocabularies.trained("llama3", 1000, own_text()).read_text("utf-8"))
    change(file)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file))
    return Subject("changed", lambda: path, native=False)


@pytest.mark.parametrize("name", CHANGES)
def test_ids_are_the_oracles_under_every_option(name, tmp_path):
    sides = Sides(changed(CHANGES[name], tmp_path))
    sides.compare([*INSIDE, *ADDED, *strings.drawn(seed=21, count=300)])
    assert sides.ours.native != bool(sides.ours.reason)


def test_dropout_is_refused_and_said(tmp_path):
    tokenizer = ours(changed(model(dropout=0.5), tmp_path).source())
    assert not tokenizer.native
    assert "dropout" in tokenizer.reason
