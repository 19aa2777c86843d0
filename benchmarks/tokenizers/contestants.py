"""Who takes part, and with which vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tokenizers import vocabularies
from benchmarks.tokenizers.patterns import TIKTOKEN

PINS = Path(__file__).resolve().parent / "requirements"


@dataclass(frozen=True)
class Entry:
    """A contestant.

    Attributes:
        name: in all that is reported.
        module: its package, and what `child.py` knows it by.
        environment: the name of its environment; None is the one that measures.
        knows: the vocabularies that it can load; none: every one.
        grows: whether it goes on learning from text, so that it is warmed with all there is.
    """

    name: str
    module: str
    environment: str | None
    knows: tuple[str, ...] = ()
    grows: bool = False

    def can(self, vocabulary: str) -> bool:
        """Whether it can load a vocabulary."""
        return not self.knows or vocabulary in self.knows


OURS = "drapps"
REFERENCE = "tokenizers"
ENTRIES = (
    Entry(OURS, "drapps", None, grows=True),
    Entry(REFERENCE, "tokenizers", "tokenizers"),
    Entry("tokenizers_next", "tokenizers", "tokenizers-next"),
    Entry("tiktoken", "tiktoken", "tiktoken", ("gpt2", "cl100k", "o200k")),
    Entry("gigatoken", "gigatoken", "gigatoken", grows=True),
    Entry("quicktok", "quicktok", "quicktok", ("cl100k", "o200k", "llama3", "qwen3"), grows=True),
)
_QUICKTOK = {"cl100k": "cl100k_base", "o200k": "o200k_base"}


def spec(entry: Entry, vocabulary: str, file: Path, cores: Sequence[int]) -> dict[str, Any]:
    """What its process is told; `file` is the vocabulary's tokenizer.json."""
    about: dict[str, Any] = {"module": entry.module, "json": str(file), "name": vocabulary}
    about["cores"] = list(cores)
    if entry.module == "quicktok":
        about["name"] = _QUICKTOK.get(vocabulary, vocabulary)
    if entry.module == "tiktoken":
        ranks = vocabularies.ranks_in(file)
        about["ranks"] = str(vocabularies.rank_file(file.parent.name, ranks))
        about["pattern"] = TIKTOKEN["r50k" if vocabulary == "gpt2" else vocabulary]
        about["special"] = {}
    return about
