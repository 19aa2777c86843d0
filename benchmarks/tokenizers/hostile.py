"""Twenty inputs that a byte-level BPE finds hard: no cache helps, or merges go on for long.

Each is a function of its length in bytes alone, and so the same everywhere and for ever.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence

SIZES = (64 << 10, 16 << 20)

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_MARKS = "".join(map(chr, range(0x300, 0x34F)))
_EMOJI = "".join(map(chr, [*range(0x1F600, 0x1F650), *range(0x1F680, 0x1F6C6)]))
_FAMILY = "\U0001f468\u200d\U0001f469\U0001f3fd\u200d\U0001f467\u200d\U0001f466"
_HAN = "".join(map(chr, range(0x4E00, 0x9FA6)))
_SYLLABLES = ("in", "the", "er", "an", "re", "on", "at", "en", "ing", "tion", "ed", "st", "ment")


def make(name: str, size: int) -> bytes:
    """The input of that name; text is cut at a whole character, some bytes short at most."""
    data = INPUTS[name](size)
    if name == "random bytes":
        return data
    return data[:size].decode("utf-8", "ignore").encode()


def _repeated(piece: str) -> Callable[[int], bytes]:
    encoded = piece.encode()
    return lambda size: encoded * (size // len(encoded) + 1)


def _drawn(pieces: Sequence[str], seed: int) -> Callable[[int], bytes]:
    """Pieces drawn at random, with nothing between them."""
    shortest = min(len(piece.encode()) for piece in pieces)

    def drawn(size: int) -> bytes:
        draws = random.Random(seed).choices(pieces, k=size // shortest + 1)
        return "".join(draws).encode()

    return drawn


def _fibonacci(size: int) -> bytes:
    """The Fibonacci word: which pair is merged is undecided at every scale."""
    before, word = b"b", b"a"
    while len(word) < size:
        before, word = word, word + before
    return word


def _thue_morse(size: int) -> bytes:
    """The Thue-Morse word, in which no piece comes three times in a row."""
    word, swapped = b"e", b"t"
    while len(word) < size:
        word, swapped = word + swapped, swapped + word
    return word


def _single_words(size: int) -> bytes:
    """Words of 2 to 20 letters, hardly one of them twice."""
    draws = random.Random(17)
    letters = _drawn(string.ascii_lowercase, 18)(size)
    words, begin = [], 0
    while begin < size:
        end = begin + draws.randint(2, 20)
        words.append(letters[begin:end])
        begin = end
    return b" ".join(words)


def _random_bytes(size: int) -> bytes:
    return random.Random(4).randbytes(size)


INPUTS: dict[str, Callable[[int], bytes]] = {
    "one letter": _repeated("a"),
    "spaces": _repeated(" "),
    "line ends": _repeated("\r\n\n"),
    "random bytes": _random_bytes,
    "NUL": _repeated("\0"),
    "one emoji": _repeated(_FAMILY),
    "emoji": _drawn(_EMOJI, 7),
    "combining marks": _drawn(_MARKS, 8),
    "one random word": _drawn(string.ascii_lowercase, 9),
    "one word of syllables": _drawn(_SYLLABLES, 10),
    "alternating letters": _repeated("ab"),
    "Fibonacci word": _fibonacci,
    "Thue-Morse word": _thue_morse,
    "digits": _drawn(string.digits, 14),
    "one Han character": _repeated("\u7684"),
    "Han characters": _drawn(_HAN, 16),
    "words that come once": _single_words,
    "punctuation": _drawn(string.punctuation, 19),
    "white space": _drawn(_SPACES, 20),
    "contractions": _drawn(("'s", "'RE", "'ll", "'\u017f", "'d", "n't"), 21),
}
