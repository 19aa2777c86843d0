"""A `PreTrainedTokenizerFast` answers natively what it answers itself, to the key and the type."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import random
from typing import Any

import pytest

pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

import drapps  # noqa: E402
from benchmarks.tokenizers import vocabularies  # noqa: E402
from drapps.tokenizers.fast import FastTokenizer  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.text import strings  # noqa: E402
from python.tests.text.test_oracle import own_text  # noqa: E402

END = "<|endoftext|>"
TEXTS = [
    "",
    "a",
    " two  words ",
    "caf\u00e9 \u4e2d\u6587\u5b57 \U0001f600\U0001f3fd \u0e01\u0e33 x",
    f"a {END}\n{END} b{END}",
    "  <mask>  behind <mask>",
    "the quick brown fox's 12345 jumps\n\n  over -- it!" * 3,
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Where texts of a batch fail in different ways, stock threads race for which error it is."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def level(**flags: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "use_regex": True} | flags


def template(single: str, pair: str) -> dict[str, Any]:
    """A template of pieces such as `s:0`, where A and B are the texts and s stands for the end."""

    def piece(word: str) -> dict[str, Any]:
        name, kind = word.split(":")
        if name in "AB":
            return {"Sequence": {"id": name, "type_id": int(kind)}}
        return {"SpecialToken": {"id": END, "type_id": int(kind)}}

    return {
        "type": "TemplateProcessing",
        "single": [piece(word) for word in single.split()],
        "pair": [piece(word) for word in pair.split()],
        "special_tokens": {END: {"id": END, "ids": [0], "tokens": [END]}},
    }


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "processors": list(steps)}


POSTS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "trims": level(trim_offsets=True, add_prefix_space=False),
    "trims all but the first": level(trim_offsets=True, add_prefix_space=True),
    "a begin": sequence(
        level(trim_offsets=False, add_prefix_space=True), template("s:0 A:0", "s:0 A:0 s:1 B:1")
    ),
    "begin and end, trims": sequence(
        template("s:0 A:0 s:0", "s:0 A:0 s:0 s:0 B:0 s:0"),
        level(trim_offsets=True, add_prefix_space=True),
    ),
    "the second first": template("A:1 s:0", "B:1 s:3 A:0"),
}


def pair_of(post: str, pattern: str = "llama3", **top: Any) -> tuple[Any, Any]:
    """The stock tokenizer and ours."""
    file = json.loads(vocabularies.trained(pattern, 1000, own_text()).read_text("utf-8"))
    file |= {"post_processor": POSTS[post]} | top
    plain = dict.fromkeys(("single_word", "rstrip", "normalized"), False)
    token = {"id": 1000, "content": "<mask>", "special": True, "lstrip": True}
    file["added_tokens"].append(token | plain)
    from tokenizers import Tokenizer

    stock = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(file)), pad_token=END, model_max_length=64
    )
    ours = drapps.tokenizer(stock)
    assert ours.native, ours.reason
    return stock, ours


def outcome(tokenizer: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a call comes to: its columns, or the kind of its error."""
    try:
        encoding = tokenizer(*args, **named)
    except BaseException as error:  # PyO3's panics are no Exception
        return type(error).__name__
    assert isinstance(encoding, transformers.BatchEncoding)
    return {name: (type(column), plain(column)) for name, column in encoding.items()}


def plain(column: Any) -> Any:
    if hasattr(column, "dtype"):
        rows = [plain(row) for row in column] if column.dtype == object else column.tolist()
        return str(column.dtype), tuple(column.shape), rows
    return column


def drawn_call(draws: random.Random, texts: list[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call by chance."""
    named: dict[str, Any] = {}
    for name in (
        *("return_offsets_mapping", "return_special_tokens_mask", "return_overflowing_tokens"),
        *("return_length", "return_token_type_ids", "return_attention_mask"),
    ):
        if draws.random() < 0.5:
            named[name] = draws.random() < 0.8
    if draws.random() < 0.3:
        named["add_special_tokens"] = False
    if draws.random() < 0.7:
        named["truncation"] = draws.choice((True, True, "only_first", "only_second", False))
        named["max_length"] = draws.choice((0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 40))
        named["stride"] = draws.choice((0, 0, 1, 2, 5))
    if draws.random() < 0.6:
        named["padding"] = draws.choice((True, "max_length"))
        named["padding_side"] = draws.choice(("left", "right"))
        if draws.random() < 0.3:
            named["pad_to_multiple_of"] = 4
    if draws.random() < 0.4:
        named["return_tensors"] = draws.choice(("np", "pt"))
    count = draws.randint(1, 4)
    firsts, seconds = draws.choices(texts, k=count), draws.choices(texts, k=count)
    args: tuple[Any, ...] = draws.choice(
        (
            (firsts,),
            (firsts, seconds),
            (list(zip(firsts, seconds, strict=True)),),
            (firsts[0],),
            (firsts[0], seconds[0]),
        )
    )
    return args, named


def compare(post: str, count: int, seed: int, **top: Any) -> None:
    stock, ours = pair_of(post, **top)
    draws = random.Random(seed)
    texts = [*TEXTS, *strings.drawn(seed=seed, count=30)]
    for _ in range(count):
        args, named = drawn_call(draws, texts)
        for each in (stock, ours):
            each.truncation_side = "left" if seed % 2 else "right"
        stock.backend_tokenizer.no_truncation()  # refused ones would pass at a second try
        wanted = outcome(stock, args, named)
        assert outcome(ours, args, named) == wanted, (args, named)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("post", POSTS)
def test_calls_give_what_the_original_gives(post, seed):
    compare(post, 60, seed)


@pytest.mark.full
@pytest.mark.parametrize("pattern", vocabularies.HUGGING_FACE)
@pytest.mark.parametrize("post", POSTS)
def test_many_calls_give_what_the_original_gives(post, pattern):
    for seed in range(10, 14):
        compare(post, 500, seed, pattern=pattern)


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_calls_are_the_originals_under_a_normal_form(form):
    compare("a begin", 60, 3, normalizer={"type": form})


def test_calls_do_not_reach_the_original(monkeypatch):
    _, ours = pair_of("a begin")
    monkeypatch.setattr(FastTokenizer, "_stock_plus", None)
    encoding = ours(
        TEXTS, TEXTS[::-1], truncation=True, max_length=8, stride=1, padding="max_length",
        return_overflowing_tokens=True, return_offsets_mapping=True, return_length=True,
        return_special_tokens_mask=True, return_tensors="np",
    )  # fmt: skip
    assert (
        encoding["input_ids"].shape
        == encoding["attention_mask"].shape
        == encoding["offset_mapping"].shape[:2]
    )
    assert ours.encode(TEXTS[3], add_special_tokens=False) == ours(TEXTS[3])["input_ids"][1:]
    assert ours.encode_batch(TEXTS, 2)[3].tolist() == ours(TEXTS[3])["input_ids"]


def test_it_is_the_original_in_all_else(tmp_path):
    stock, ours = pair_of("a begin")
    assert isinstance(ours, type(stock))
    assert isinstance(ours, transformers.PreTrainedTokenizerFast)
    assert drapps.tokenizer(ours) is ours
    ids = stock(TEXTS[3])["input_ids"]
    assert ours.decode(ids) == stock.decode(ids)
    assert ours.tokenize(TEXTS[3]) == stock.tokenize(TEXTS[3])
    rows = [{"input_ids": ids}, {"input_ids": ids[:2]}]
    assert ours.pad(rows)["input_ids"] == stock.pad(rows)["input_ids"]
    stock.chat_template = ours.chat_template = (
        "{% for m in messages %}<{{ m.content }}>{% endfor %}"
    )
    chat = [{"role": "user", "content": "hi"}]
    assert ours.apply_chat_template(chat) == stock.apply_chat_template(chat)
    stock.save_pretrained(tmp_path / "stock")
    ours.save_pretrained(tmp_path / "ours")
    for file in (tmp_path / "stock").iterdir():
        assert file.read_bytes() == (tmp_path / "ours" / file.name).read_bytes()


def test_arguments_that_are_not_known_reach_the_original():
    stock, ours = pair_of("a begin")
    for named in (
        {"is_split_into_words": True},
        {"split_special_tokens": True},
        {"truncation": True, "max_length": 3, "stride": 9},
    ):
        args = (["some", f"words {END}"],)
        assert outcome(ours, args, named) == outcome(stock, args, named)
    for args in ((), (3,), ([],), (["a", 1],), (b"bytes",), (["a"], "b")):
        assert outcome(ours, args, {}) == outcome(stock, args, {})


def test_encodings_are_there_for_who_asks():
    stock, ours = pair_of("a begin")
    wanted, encoding = stock(TEXTS[3:5], TEXTS[:2]), ours(TEXTS[3:5], TEXTS[:2])
    assert encoding.is_fast
    assert encoding.word_ids(1) == wanted.word_ids(1)
    assert encoding.tokens(0) == wanted.tokens(0)
    assert encoding.char_to_token(0, 3) == wanted.char_to_token(0, 3)
    assert encoding.n_sequences == wanted.n_sequences == 2
    assert pickle.loads(pickle.dumps(encoding)).data == wanted.data


def test_tokens_that_are_added_later_are_found():
    stock, ours = pair_of("a begin")
    for each in (stock, ours):
        each.add_tokens(["quick"])
        each.add_special_tokens({"additional_special_tokens": ["[X]"]})
    assert ours("the quick [X]").data == stock("the quick [X]").data
    ours.backend_tokenizer.add_tokens(["brown"])
    stock.backend_tokenizer.add_tokens(["brown"])
    assert ours("quick brown").data == stock("quick brown").data
    assert ours.native


def test_a_template_that_a_method_changes_is_seen():
    from tokenizers.processors import TemplateProcessing

    stock, ours = pair_of("none")
    assert ours("a b").data == stock("a b").data
    for each in (stock, ours):  # as Whisper's does it
        each._tokenizer.post_processor = TemplateProcessing(
            single=f"{END} $A", special_tokens=[(END, 0)]
        )
    assert ours("a b")["input_ids"][0] == 0
    assert ours("a b").data == stock("a b").data
    assert ours.native


class Shouting(transformers.PreTrainedTokenizerFast):
    """Does something else with its texts."""

    def _encode_plus(self, text: Any, *args: Any, **named: Any) -> Any:
        return super()._encode_plus(text.upper(), *args, **named)


def test_a_class_that_encodes_in_its_own_way_does():
    stock = Shouting(tokenizer_file=str(vocabularies.trained("gpt2", 1000, own_text())))
    ours = drapps.tokenizer(stock)
    assert ours.reason == "_encode_plus of Shouting"
    assert ours("the fox").data == stock("the fox").data != stock("a").data


def test_the_original_stays_as_it_was():
    stock, ours = pair_of("a begin")
    before = stock.backend_tokenizer.to_str()
    ours.add_tokens(["quick"])
    ours(["a b c d e"], truncation=True, max_length=2, is_split_into_words=True)
    assert stock.backend_tokenizer.to_str() == before


def test_the_fingerprint_of_datasets_is_equal_before_and_after_use():
    fingerprint = pytest.importorskip("datasets.fingerprint")
    _, ours = pair_of("a begin")
    before = fingerprint.Hasher.hash(ours)
    ours(TEXTS, truncation=True, max_length=5, padding=True)
    ours([["a", "b"]], is_split_into_words=True, truncation=True, max_length=5, padding=True)
    ours("long " * 100)
    assert fingerprint.Hasher.hash(ours) == before
    assert fingerprint.Hasher.hash(pickle.loads(pickle.dumps(ours))) == before


@pytest.mark.parametrize("method", some_full(["fork", "spawn"], "fork"))
def test_another_process_gives_the_same_rows(method):
    stock, ours = pair_of("a begin")
    wanted = stock(TEXTS, padding=True, return_offsets_mapping=True).data
    ours(TEXTS)
    with multiprocessing.get_context(method).Pool(1) as pool:
        encoding = pool.apply_async(
            ours, (TEXTS,), {"padding": True, "return_offsets_mapping": True}
        ).get(timeout=300)
    assert encoding.data == wanted


def test_copies_answer_natively():
    _, ours = pair_of("a begin")
    for each in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert each.native
        assert type(each) is type(ours)
        assert each(TEXTS).data == ours(TEXTS).data


def test_what_is_not_exact_is_left_to_the_original():
    stock = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(vocabularies.trained("gpt2", 1000, own_text()))
    )
    from tokenizers import normalizers

    stock.backend_tokenizer.normalizer = normalizers.Lowercase()
    ours = drapps.tokenizer(stock)
    assert ours.reason == "the normalizer Lowercase"
    assert not ours.native
    assert ours(TEXTS).data == stock(TEXTS).data
    assert ours.encode_batch(TEXTS)[3].tolist() == stock(TEXTS[3])["input_ids"]
