"""Tokenizers, held to the libraries that they are from, id by id."""

import json
import pickle
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import drapps
from python.tests.cells import some_full

tokenizers = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
    r""" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
PATTERNS = {
    "gpt2": (),
    "llama3": (CL100K,),
    "qwen2": (CL100K.replace("{1,3}", ""),),
    "o200k": (O200K,),
    "tekken": (TEKKEN,),
    "deepseek": (r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK),  # noqa: RUF001
}
TIKTOKEN_PATTERNS = {
    "r50k": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"""
    r""" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    "o200k": O200K,
    "tekken": TEKKEN,
}
PIECES = [
    *[
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\v",
        "'s",
        "'S",
        "'ll",
        "'RE",
        "'\u017f",
        "'",
        "''",
        "a",
        "bc",
    ],
    *["Hello", "WORLD", "Word", "é", "É", "ß", "中文", "日本", "한국", "😀", "e\u0301", "\u0301"],
    *["\u00a0", "\u3000", "\u2028", "1", "23", "4567", "½", "٣", "!", "!!", "(", "/", "//"],
    *[
        "<|end|>",
        "<|begin|>",
        "<mask>",
        "of the",
        "\0",
        "\x7f",
        "\u200d",
        "ǅ",
        "ʰ",
        "\u0085",
        "_",
        "\x1c",
    ],
    *["the", " the", " of", " and", "\u0627", "ש", "Привет", " мир"],
]


def made_texts(seed: int, count: int) -> list[str]:
    """Texts of pieces that patterns treat each in a way of its own, and of any characters."""
    rng = random.Random(seed)

    def piece() -> str:
        if rng.random() < 0.9:
            return rng.choice(PIECES)
        return chr(rng.choice([rng.randrange(0x3000), rng.randrange(0xE000, 0x110000)]))

    return ["".join(piece() for _ in range(rng.randrange(60))) for _ in range(count)]


TEXTS = [
    *made_texts(1, 1500),
    *["a" * 400, "ab" * 3000, " " * 900, "é" * 300, "'" * 50, "", " ", "\n" * 99],
    *[path.read_text("utf-8") for path in sorted(Path(drapps.__file__).parent.glob("*.py"))],
]


def trained(name: str, ignore_merges: bool = False):
    """A tokenizer with the pattern, of a small vocabulary."""
    from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    steps = [
        *(pre_tokenizers.Split(tokenizers.Regex(each), "isolated") for each in PATTERNS[name]),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not PATTERNS[name]),
    ]
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|end|>", "<|begin|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, rstrip=True), AddedToken("of the")])
    begin = tokenizer.token_to_id("<|begin|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", begin)]
    )
    return tokenizer


def encoding_of(tokenizer, pattern: str):
    """The tokens of a tokenizer as a vocabulary of tiktoken's."""
    from tokenizers.pre_tokenizers import ByteLevel

    alphabet = sorted(ByteLevel.alphabet())
    others = iter(range(0x100, 0x180))
    chars = {chr(byte) if chr(byte) in alphabet else chr(next(others)): byte for byte in range(256)}
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    words = [bytes(chars[c] for c in token) for token, _ in tokens if set(token) <= chars.keys()]
    words = [word for word in words if not word.startswith((b"<|", b"<mask"))]
    words.sort(key=len)  # each token behind those that it can be made of
    return tiktoken.Encoding(
        "made",
        pat_str=pattern,
        mergeable_ranks={word: rank for rank, word in enumerate(words)},
        special_tokens={"<|end|>": len(words), "<|begin|>": len(words) + 5},
    )


@pytest.fixture(scope="module")
def gpt2():
    return trained("gpt2")


@pytest.mark.parametrize(
    "name", some_full(PATTERNS, "gpt2", "llama3", "o200k", "tekken", "deepseek")
)
def test_ids_are_those_of_tokenizers(gpt2, name):
    stock = gpt2 if name == "gpt2" else trained(name, ignore_merges=name == "llama3")
    ours = drapps.tokenizer(stock)
    assert (ours.native, ours.reason) == (True, "")
    assert ours.vocab_size == stock.get_vocab_size()
    wanted = [each.ids for each in stock.encode_batch(TEXTS)]
    for threads in (1, 2, 7, None):
        encoded = ours.encode_batch(TEXTS, threads)
        assert [each.tolist() for each in map(encoded.__getitem__, range(len(encoded)))] == wanted
    assert encoded.ids.dtype == np.int32
    assert encoded.offsets.dtype == np.int64
    for text, ids in zip(TEXTS[::40], wanted[::40], strict=True):
        assert ours.encode(text) == ids
        assert ours.encode(text, False) == stock.encode(text, add_special_tokens=False).ids
        assert ours.decode(ids) == stock.decode(ids)
        assert ours.decode(ids, False) == stock.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", TIKTOKEN_PATTERNS)
def test_ids_are_those_of_tiktoken(gpt2, name):
    stock = encoding_of(gpt2, TIKTOKEN_PATTERNS[name])
    ours = drapps.tokenizer(stock)
    assert ours.native, ours.reason
    assert ours.vocab_size == stock.n_vocab
    encoded = ours.encode_batch(TEXTS)
    for index, text in enumerate(TEXTS):
        assert encoded[index].tolist() == stock.encode_ordinary(text)
    for allowed in ("all", {"<|end|>"}, set()):
        for text in TEXTS[::20]:
            ids = stock.encode(text, allowed_special=allowed, disallowed_special=())
            assert ours.encode(text, allowed_special=allowed) == ids
            assert ours.decode(ids) == stock.decode(ids)
    with pytest.raises(drapps.PipelineError, match="no token has the id 999999"):
        ours.decode([999999])


def test_what_is_no_text_is_replaced(gpt2):
    ours = drapps.tokenizer(gpt2)
    for text in (b"caf\xe9 \xff\xfe x", b"\xe4\xb8", "中文".encode(), b"", b"plain"):
        assert ours.encode(text) == gpt2.encode(text.decode("utf-8", "replace")).ids
    assert ours.encode("a\ud800b\udc00") == gpt2.encode("a\ufffdb\ufffd").ids
    assert ours.encode_batch([b"a\xff", "\ud800"]).ids.tolist() == [
        *gpt2.encode("a\ufffd").ids,
        *gpt2.encode("\ufffd").ids,
    ]
    with pytest.raises(TypeError, match="str or bytes"):
        ours.encode_batch(["a", None])
    with pytest.raises(drapps.PipelineError, match="takes a list"):
        ours.encode_batch("a")


def test_a_vocabulary_without_all_bytes_leaves_them_out():
    from tokenizers import models, pre_tokenizers, trainers

    stock = tokenizers.Tokenizer(models.BPE())
    stock.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    stock.train_from_iterator(["banana bandana"] * 9, trainers.BpeTrainer(show_progress=False))
    ours = drapps.tokenizer(stock)
    assert ours.native
    for text in ("banana", "ban xyz ana", "xyz", "bandana?b"):
        assert ours.encode(text) == stock.encode(text).ids
        assert ours.decode(ours.encode(text)) == stock.decode(stock.encode(text).ids)


def test_files_and_fast_tokenizers_are_read(gpt2, tmp_path):
    path = tmp_path / "tokenizer.json"
    gpt2.save(str(path))
    wanted = gpt2.encode(TEXTS[-1]).ids
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    fast.add_special_tokens({"pad_token": "<|end|>"})
    fast("a b c", truncation=True, max_length=2)  # leaves its truncation behind
    for source in (path, str(path), tmp_path, fast):
        ours = drapps.tokenizer(source)
        assert ours.native, ours.reason
        assert ours.encode(TEXTS[-1]) == wanted
    copied = pickle.loads(pickle.dumps(drapps.tokenizer(path)))
    assert copied.encode(TEXTS[-1]) == wanted


def test_what_is_not_exact_is_left_to_the_library(gpt2):
    described = json.loads(gpt2.to_str())
    described["normalizer"] = {"type": "Lowercase"}
    stock = tokenizers.Tokenizer.from_str(json.dumps(described))
    ours = drapps.tokenizer(stock)
    assert not ours.native
    assert ours.reason == "the normalizer Lowercase"
    texts = ["ﬁne <mask> x", "a", ""]
    assert ours.encode(texts[0]) == stock.encode(texts[0]).ids
    encoded = ours.encode_batch(texts)
    assert [encoded[i].tolist() for i in range(3)] == [stock.encode(text).ids for text in texts]
    assert ours.decode(encoded[0]) == stock.decode(encoded[0].tolist())
    assert ours.vocab_size == stock.get_vocab_size()

    encoding = encoding_of(gpt2, r"\w+|\W+")
    ours = drapps.tokenizer(encoding)
    assert ours.reason == r"the pattern \w+|\W+"
    assert ours.encode("<|end|> a", allowed_special="all") == encoding.encode(
        "<|end|> a", allowed_special="all"
    )


def test_damage_is_named(gpt2, tmp_path):
    path = tmp_path / "tokenizer.json"
    whole = gpt2.to_str()
    for damaged, message in (
        (whole[: len(whole) // 2], "ends in the middle"),
        ("", "ends in the middle"),
        ("[1, 2]", "no JSON object"),
        ('{"model": 1}', "has no model"),
        (whole.replace('"merges":[["', '"merges":[["zz'), "not in its vocabulary"),
    ):
        path.write_text(damaged)
        with pytest.raises(drapps.PipelineError, match=message) as caught:
            drapps.tokenizer(path)
        assert str(path) in str(caught.value)
    with pytest.raises(drapps.DataNotFoundError, match="no such file"):
        drapps.tokenizer(tmp_path / "nothing.json")
    with pytest.raises(drapps.PipelineError, match="a file of ranks has no pattern"):
        drapps.tokenizer("cl100k_base.tiktoken")
    with pytest.raises(drapps.PipelineError, match="not from int"):
        drapps.tokenizer(3)


def test_threads_share_a_tokenizer(gpt2):
    ours = drapps.tokenizer(gpt2)
    wanted = ours.encode_batch(TEXTS, 1)
    codes = []
    threads = [
        threading.Thread(target=lambda: codes.append(ours.encode_batch(TEXTS, 2))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(codes) == 4
    for each in codes:
        assert np.array_equal(each.ids, wanted.ids)
        assert np.array_equal(each.offsets, wanted.offsets)


def test_importing_drapps_loads_no_tokenizer():
    code = (
        "import sys, drapps; drapps.tokenizer; "
        "print({'tokenizers', 'tiktoken', 'transformers'} & set(sys.modules))"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "set()"
