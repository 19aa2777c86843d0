"""A tokenizer beside the one that it is from, on the user's vocabulary and text."""

from __future__ import annotations

import os
import random
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from drapps.errors import DataNotFoundError, PipelineError
from drapps.tokenizers.rank_files import described
from drapps.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from drapps.tokenizers.stock import Stock

# Where each character is put: alone, in words, numbers and white space, doubled.
CONTEXTS = ("{c}", "{c}{c}", "a{c}b", " {c}", "1{c}2", "!{c}?", "{c} \n", "'{c}", "A{c}a")
BATCH = 256  # texts that are compared at once


class Found(NamedTuple):
    """What a kind of text came to.

    Attributes:
        name: the kind.
        texts: how many were compared.
        bytes: of them, in UTF-8.
        differ: the first that differs, cut short as far as it still does; or nothing.
        ours: MB/s of DRAPPS, on one thread.
        stock: MB/s of the library, on one thread.
    """

    name: str
    texts: int
    bytes: int
    differ: str | None
    ours: float
    stock: float


class Checked(NamedTuple):
    """What a check came to.

    Attributes:
        native: whether DRAPPS does the work.
        reason: why not.
        kinds: by kind of text; nothing where there is nothing to compare.
    """

    native: bool
    reason: str
    kinds: list[Found]

    @property
    def exact(self) -> bool:
        """Whether nothing differs."""
        return all(each.differ is None for each in self.kinds)


def check(
    file: Path, folder: Path | None, say: Callable[[str], None], encoding: str | None = None
) -> Checked:
    """Compares the ids of a file with those of the library that it is of.

    Args:
        file: the tokenizer.json, or its folder; or a file of ranks.
        folder: of texts, all of which are read as UTF-8; or one such file.
        say: is told what is under way.
        encoding: of a file of ranks.

    Raises:
        PipelineError: the file is no tokenizer, or there is no text.
    """
    tokenizer = Tokenizer(file, described(encoding, None, None))
    stock = tokenizer._stock
    if not tokenizer.native:
        return Checked(False, tokenizer.reason, [])
    kinds: list[tuple[str, Iterator[str]]] = [
        ("tokens of the vocabulary", vocabulary_texts(tokenizer)),
        ("characters", character_texts()),
        ("strings by chance", chance_texts(2000)),
    ]
    if folder is not None:
        kinds.append(("your text", file_texts(folder)))
    comparisons = []
    for name, texts in kinds:
        say(name)
        comparisons.append(_compare(tokenizer, stock, name, texts))
    return Checked(True, "", comparisons)


def vocabulary_texts(tokenizer: Tokenizer) -> Iterator[str]:
    """Each token as a text, alone and between others."""
    for number in range(tokenizer.vocab_size):
        try:
            text = tokenizer.decode([number], skip_special_tokens=False)
        except PipelineError:  # between ranks and special tokens there are ids without a token
            continue
        yield text
        yield f"x{text} {text}.{text}"


def character_texts() -> Iterator[str]:
    """Every code point that Python knows, and some others, in their contexts; many to a text."""
    points = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
    known = [chr(p) for p in points if unicodedata.category(chr(p)) not in ("Co", "Cn")]
    chars = known + [chr(p) for p in points[::64]]
    for context in CONTEXTS:
        for begin in range(0, len(chars), BATCH):
            yield "\n".join(context.format(c=c) for c in chars[begin : begin + BATCH])


def chance_texts(count: int) -> Iterator[str]:
    """Strings of few kinds of characters each."""
    draws = random.Random(45)
    kinds = [
        "etaoin",
        " ",
        " \t\n",
        "0123456789",
        "'sSdDlLrReEvVmM\u017f",
        ".,;!?-_/",
        "\u0301\u0327",
    ]
    kinds += ["\u4e2d\u6587\u3042", "\u0e01\u0e33", "\u05d0\u0628", "\U0001f468\u200d\u20e3\ufe0f"]
    kinds += ["".join(chr(draws.randrange(0xA0, 0x3000)) for _ in range(20)) for _ in range(8)]
    for _ in range(count):
        some = draws.choices(kinds, k=draws.randint(1, 4))
        length = draws.choice((3, 10, 40, 400))
        yield "".join(draws.choice(draws.choice(some)) for _ in range(draws.randint(0, length)))


def file_texts(folder: Path) -> Iterator[str]:
    """The texts of the files of a folder, and of all folders in it.

    Raises:
        DataNotFoundError: there is no such folder, or nothing in it.
    """
    if folder.is_file():
        files: Sequence[Path] = [folder]
    else:
        below = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
        files = sorted(path for path in below if path.is_file())
    if not files:
        raise DataNotFoundError(f"{folder}: there is no text in it")
    yield from map(_text_of, files)


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from error


def _compare(tokenizer: Tokenizer, stock: Stock, name: str, texts: Iterator[str]) -> Found:
    count = size = 0
    ours = theirs = 0.0
    differ = None
    while differ is None and (batch := _taken(texts)):
        begin = time.perf_counter()
        encodings = tokenizer.encode_batch(batch, 1)
        between = time.perf_counter()
        wanted = [stock.encode(text, True, None) for text in batch]
        theirs += time.perf_counter() - between
        ours += between - begin
        for place, (text, ids) in enumerate(zip(batch, wanted, strict=True)):
            count += 1
            size += len(text.encode())
            if encodings[place].tolist() != ids:
                differ = shortened(text, lambda some: _differs(tokenizer, stock, some))
                break
    return Found(
        name, count, size, differ, size / 1e6 / max(ours, 1e-9), size / 1e6 / max(theirs, 1e-9)
    )


def _taken(texts: Iterator[str]) -> list[str]:
    """The next texts, of some megabytes at most."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if len(batch) >= BATCH or size >= 1 << 22:
            break
    return batch


def _differs(tokenizer: Any, stock: Stock, text: str) -> bool:
    return bool(tokenizer.encode(text) != stock.encode(text, True, None))


def shortened(text: str, differs: Callable[[str], bool]) -> str:
    """A part of a text that still differs, and no longer does where a piece of it is left out."""
    if not differs(text):
        return text  # it differs only together with others
    size = max(1, len(text) // 2)
    while True:
        place = 0
        while place < len(text):
            less = text[:place] + text[place + size :]
            if differs(less):
                text = less
            else:
                place += size
        if size == 1:
            return text
        size //= 2
