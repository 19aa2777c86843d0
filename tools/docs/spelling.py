"""The spelling of pages and docstrings: British, with the words of docs/words.txt."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.docs.prose import line_of, pages, prose_of_docstrings, prose_of_page

WORDS = "docs/words.txt"
WORD = re.compile(r"\w+(?:'\w+)*")
NAME = re.compile(r"[\d_]|[a-z][A-Z]|[A-Z]{2}[a-z]")


def problems(root: Path) -> list[str]:
    """File and line of each word that neither the dictionary nor the project's list has.

    A word of the list in small letters may be written with capitals; others stand as they are.
    """
    listed = (root / WORDS).read_text().split("\n")[:-1]
    lines = [] if listed == sorted(set(listed)) else [f"{WORDS}:1: not sorted: LC_ALL=C sort -u"]
    met = [
        (word, f"{file.relative_to(root)}:{line_of(text, place)}")
        for file, text in texts(root)
        for word, place in words(text)
    ]
    known = set(listed)
    unknown = misspelt({word for word, _ in met if not {word, word.lower()} & known})
    return lines + [f"{where}: {word}" for word, where in met if word in unknown]


def texts(root: Path) -> Iterator[tuple[Path, str]]:
    """What is read of each file."""
    for page in pages(root):
        yield page, prose_of_page(page.read_text())
    for module in sorted((root / "python/drapps").rglob("*.py")):
        yield module, prose_of_docstrings(module.read_text())


def words(text: str) -> Iterator[tuple[str, int]]:
    """The words of a text and where they stand, without names like `x86`, `TensorFlow`, `JPEGs`."""
    for match in WORD.finditer(text):
        word = re.sub(r"'s$", "", match[0])
        if not NAME.search(word):
            yield word, match.start()


def misspelt(candidates: set[str]) -> set[str]:
    """Those that the British dictionary does not have."""
    done = subprocess.run(
        ["hunspell", "-l", "-d", "en_GB", "-i", "utf-8"],
        input="\n".join(sorted(candidates)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return set(done.stdout.split("\n")) & candidates
