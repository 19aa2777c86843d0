"""Vocabularies to test and measure with: real ones, and ones that `tokenizers` trains here.

    build/tokenizers/NAME/tokenizer.json      what Hugging Face's libraries read
    build/tokenizers/NAME/ranks.tiktoken      the same bytes and ranks, in the form of tiktoken's

Real are cl100k, o200k, Llama 3's and Qwen's, which the package quicktok-v1 carries in a format of
its own. It has no merges: they are derived from the ranks, which makes test vocabularies, not the
published files.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
import struct
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.contestant import ROOT
from benchmarks.tokenizers.patterns import HUGGING_FACE, TIKTOKEN

PLACE = ROOT / "build/tokenizers"

# Name → the pattern in tokenizer.json, and tiktoken's pattern if it has one.
REAL: dict[str, tuple[str, str | None]] = {
    "cl100k": ("llama3", "cl100k"),
    "o200k": ("o200k", "o200k"),
    "llama3": ("llama3", None),
    "qwen3": ("qwen2", None),
}


@cache
def real(name: str) -> Path:
    """The tokenizer.json of a real vocabulary, converted on its first use.

    Raises:
        ImportError: the package quicktok-v1 is not installed.
    """
    file = PLACE / name / "tokenizer.json"
    if not file.is_file():
        ranks, special = ranks_of(name), special_of(name)
        _write(file, _assembled(name, ranks, special))
    return file


def without_template(file: Path) -> Path:
    """The same tokenizer.json without what adds special tokens to a text."""
    plain = file.with_name("plain.json")
    if not plain.is_file():
        content = json.loads(file.read_text(encoding="utf-8"))
        content["post_processor"] = None
        _put(plain, json.dumps(content, ensure_ascii=False))
    return plain


@cache
def trained(pattern: str, size: int, text: Path) -> Path:
    """The tokenizer.json of so many tokens that `tokenizers` trains on the text.

    Raises:
        ValueError: the text is too short for them.
    """
    from tokenizers import Tokenizer, models, trainers

    file = PLACE / f"{pattern}-{size}-{text.stem}" / "tokenizer.json"
    if not file.is_file():
        tokenizer = Tokenizer(models.BPE())
        _cut(tokenizer, pattern)
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=sorted(_characters().values()),
            show_progress=False,
        )
        documents = text.read_text(encoding="utf-8").split("\0")
        tokenizer.train_from_iterator(documents, trainer)
        if tokenizer.get_vocab_size() != size:
            raise ValueError(
                f"{text} has pairs for {tokenizer.get_vocab_size()} tokens, not for {size}: "
                "train on more text"
            )
        _write(file, tokenizer)
    return file


@cache
def pairs(pattern: str) -> Path:
    """A tokenizer.json that merges any two bytes: where a pattern cuts shows in the ids."""
    from tokenizers import Tokenizer, models

    file = PLACE / f"{pattern}-pairs" / "tokenizer.json"
    if not file.is_file():
        letters = sorted(_characters().values())
        merges = list(itertools.product(letters, letters))
        random.Random(pattern).shuffle(merges)
        tokens = letters + ["".join(merge) for merge in merges]
        model = models.BPE({token: rank for rank, token in enumerate(tokens)}, merges)
        tokenizer = Tokenizer(model)
        _cut(tokenizer, pattern)
        _write(file, tokenizer)
    return file


def encoding(name: str, pattern: str, ranks: dict[bytes, int], special: dict[str, int]) -> Any:
    """A tiktoken.Encoding in memory."""
    import tiktoken

    return tiktoken.Encoding(
        name=name, pat_str=TIKTOKEN[pattern], mergeable_ranks=ranks, special_tokens=special
    )


@cache
def real_encoding(name: str) -> Any:
    """A real vocabulary as tiktoken has it: cl100k or o200k."""
    pattern = REAL[name][1]
    assert pattern is not None, f"{name} is none of tiktoken's"
    return encoding(f"{name}_base", pattern, ranks_of(name), special_of(name))


@cache
def trained_encoding(pattern: str, file: Path) -> Any:
    """The bytes and ranks of a trained tokenizer.json under one of tiktoken's patterns."""
    return encoding(f"trained-{pattern}", pattern, ranks_in(file), {})


def rank_file(name: str, ranks: dict[bytes, int]) -> Path:
    """The ranks in the form of tiktoken's files."""
    file = PLACE / name / "ranks.tiktoken"
    if not file.is_file():
        lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
        _put(file, "".join(lines))
    return file


def ranks_in(file: Path) -> dict[bytes, int]:
    """Bytes and ranks of a tokenizer.json, its added tokens left out."""
    content = json.loads(file.read_text(encoding="utf-8"))
    added = {token["content"] for token in content["added_tokens"]}
    byte = {character: value for value, character in _characters().items()}
    tokens = content["model"]["vocab"].items()
    entries = sorted((rank, token) for token, rank in tokens if token not in added)
    return {bytes(byte[each] for each in token): rank for rank, token in entries}


@cache
def ranks_of(name: str) -> dict[bytes, int]:
    """Bytes and ranks of a real vocabulary, in the order of the ranks."""
    return {token: rank for rank, token in sorted(_records(f"{name}.vocab"))}


@cache
def special_of(name: str) -> dict[str, int]:
    """The special tokens of a real vocabulary."""
    data, place = _carried(f"{name}.special"), 4
    tokens: dict[str, int] = {}
    for _ in range(struct.unpack_from("<I", data)[0]):
        number, length = struct.unpack_from("<IH", data, place)
        tokens[data[place + 6 : place + 6 + length].decode()] = number
        place += 6 + length
    return tokens


def _records(name: str) -> Iterator[tuple[int, bytes]]:
    """Ranks and tokens: a length, so many bytes, a rank."""
    data, place = _carried(name), 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        end = place + 2 + struct.unpack_from("<H", data, place)[0]
        yield struct.unpack_from("<I", data, end)[0], data[place + 2 : end]
        place = end + 4


def _carried(name: str) -> bytes:
    spec = find_spec("quicktok")
    if spec is None or spec.origin is None:
        raise ImportError("the real vocabularies come with quicktok-v1: pip install quicktok-v1")
    return (Path(spec.origin).parent / "data" / name).read_bytes()


def _assembled(name: str, ranks: dict[bytes, int], special: dict[str, int]) -> Any:
    """A real vocabulary as its publishers assemble a tokenizer.json."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, processors

    characters = _characters()
    text = {token: "".join(characters[byte] for byte in token) for token in ranks}
    llama = name == "llama3"
    pairs = _all_pairs(ranks) if llama else _last_pairs(ranks)
    model = models.BPE(
        vocab={text[token]: rank for token, rank in ranks.items()},
        merges=[(text[left], text[right]) for left, right in pairs],
        ignore_merges=llama,
    )
    tokenizer = Tokenizer(model)
    _cut(tokenizer, REAL[name][0])
    if name == "qwen3":
        tokenizer.normalizer = normalizers.NFC()
    by_number = sorted((number, content) for content, number in special.items())
    known = len(ranks)
    for number, content in by_number:
        if number != tokenizer.get_vocab_size():  # numbers that no token has
            fill = [AddedToken(f"<|unused_{n}|>", special=True) for n in range(known, number)]
            tokenizer.add_special_tokens(fill)
        tokenizer.add_special_tokens([AddedToken(content, special=True, normalized=False)])
        known = number + 1
        assert tokenizer.token_to_id(content) == number
    if llama:
        begin = "<|begin_of_text|>"
        template = processors.TemplateProcessing(
            single=f"{begin} $A",
            pair=f"{begin} $A {begin}:1 $B:1",
            special_tokens=[(begin, special[begin])],
        )
        levels = processors.ByteLevel(trim_offsets=False)
        tokenizer.post_processor = processors.Sequence([levels, template])
    return tokenizer


def _cut(tokenizer: Any, pattern: str) -> None:
    """Gives a tokenizer a pattern, and what goes with it."""
    from tokenizers import Regex, decoders, pre_tokenizers, processors

    expressions = HUGGING_FACE[pattern]
    if not expressions:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        splits = [pre_tokenizers.Split(Regex(each), "isolated") for each in expressions]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


def _all_pairs(ranks: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Every pair of tokens that make a token, as transformers converts files of ranks."""
    for token in ranks:
        pairs = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
        known = ((ranks.get(left), ranks.get(right), left, right) for left, right in pairs)
        merges = sorted(each for each in known if None not in each)
        yield from ((left, right) for _, _, left, right in merges)


def _last_pairs(ranks: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """The pair that each token was made of when its vocabulary was trained."""
    for token, rank in ranks.items():
        parts = [token[place : place + 1] for place in range(len(token))]
        while len(parts) > 2:
            neighbours = enumerate(itertools.pairwise(parts))
            candidates = ((ranks.get(a + b, rank), place) for place, (a, b) in neighbours)
            lowest, place = min(candidates)
            if lowest >= rank:  # no merges lead here
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


@cache
def _characters() -> dict[int, str]:
    """The character that stands for each byte in a byte-level vocabulary."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    characters = {byte: chr(byte) for byte in printed}
    return characters | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _write(file: Path, tokenizer: Any) -> None:
    _put(file, tokenizer.to_str())


def _put(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".part")
    new.write_text(content, encoding="utf-8")
    new.replace(file)
