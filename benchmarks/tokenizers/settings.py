"""How much is measured, and what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.tokenizers import hostile


@dataclass(frozen=True)
class Settings:
    """Of a run.

    Attributes:
        name: of its files.
        full: whether it reads all of the texts.
        timed: bytes of text that are timed.
        warmed: bytes of other text before that, for contestants that go on learning from it.
        settled: the same for the others, whose caches are full by then.
        cells: vocabulary and text.
        hostile: the sizes of the hostile inputs.
        train: bytes of text that GPT-2's stand-in is trained on.
        train_on: these texts.
    """

    name: str
    full: bool
    timed: int
    warmed: int
    settled: int
    cells: tuple[tuple[str, str], ...]
    hostile: tuple[int, int]
    train: int
    train_on: tuple[str, ...]


GPT2 = "gpt2"  # a stand-in with its pattern and its size
MIXED = "languages"
LOADED = "o200k"
TEXTS = ("english", "code", MIXED, "chinese", "japanese")

CUT = Settings(
    "cut",
    full=False,
    timed=500_000,
    warmed=4_000_000,
    settled=500_000,
    cells=((GPT2, "english"), ("cl100k", "code"), ("cl100k", MIXED), ("llama3", "chinese")),
    hostile=(hostile.SIZES[0], 1 << 20),
    train=16_000_000,
    train_on=("english", "code", "german", "russian", "chinese"),
)
FULL = Settings(
    "full",
    full=True,
    timed=10_000_000,
    warmed=100_000_000,
    settled=10_000_000,
    cells=(
        (GPT2, "english"),
        *(("cl100k", text) for text in TEXTS),
        *(("llama3", text) for text in TEXTS),
        ("o200k", MIXED),
        ("qwen3", MIXED),
    ),
    hostile=hostile.SIZES,
    train=30_000_000,
    train_on=("english", "code"),
)

# Ours over the rival's, warm: (vocabulary, text) → rival → the least.
WANTED: dict[tuple[str, str], dict[str, float]] = {
    (GPT2, "english"): {
        "tokenizers": 100.0,
        "tokenizers_next": 3.0,
        "tiktoken": 12.0,
        "gigatoken": 0.8,
    },
    **{(name, text): {"tokenizers": 50.0} for name in ("cl100k", "llama3") for text in (MIXED,)},
    **{
        (name, text): {"tokenizers": 50.0, "quicktok": 4.0}
        for name in ("cl100k", "llama3")
        for text in ("code",)
    },
    **{(name, "english"): {"quicktok": 4.0} for name in ("cl100k", "llama3")},
    **{
        (name, text): {"tokenizers": 25.0, "gigatoken": 1.0, "quicktok": 1.5}
        for name in ("cl100k", "llama3")
        for text in ("chinese", "japanese")
    },
}
WANTED_COLD = 25.0  # over tokenizers
WANTED_MB_PER_S = 250.0  # of GPT-2's stand-in on English, where there is AVX-512
WANTED_HOSTILE_MB_PER_S = 5.0
MOST_HOSTILE_GROWTH = 4.0  # of the time of a byte, from the short input to the long one
MOST_HOSTILE_BYTES = 32.0  # of memory for a byte
WANTED_TWO_THREADS = 0.95  # of two processes together
MOST_LOAD_S = 0.3
