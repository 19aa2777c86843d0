"""A small GPT-2 on documentation: `python examples/recipes/documentation_text.py [FOLDER]`.

FOLDER has texts, *.txt or *.md at any depth; without one it is what Debian's package python3-doc
puts into /usr/share/doc. A token is a byte. Needs torch and transformers.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import gpt2_wikitext2
from loop import DataError, run
from transformers import GPT2Config

DEBIAN = Path("/usr/share/doc")
SOURCES = "python3-doc/html/_sources/**/*.rst.txt"


def joined(folder: Path | None) -> str:
    """All texts, each paragraph once.

    Raises:
        DataError: there are none.
    """
    if folder is None:
        files = sorted(DEBIAN.glob(SOURCES))
        missing = f"no {DEBIAN / SOURCES}: apt-get install python3-doc, or give a folder of texts"
    else:
        files = sorted(each for each in folder.rglob("*") if each.suffix in (".txt", ".md"))
        missing = f"{folder} is no folder with *.txt or *.md"
    if not files:
        raise DataError(missing)
    texts = [each.read_text("utf-8", errors="replace") for each in files]
    paragraphs = [paragraph for text in texts for paragraph in text.split("\n\n")]
    return "\n\n".join(dict.fromkeys(paragraphs))


def main(words: Sequence[str], config: GPT2Config | None = None, context: int = 128) -> None:
    """As the recipe of GPT-2 does: one epoch of two layers, minutes on a few cores."""
    given, rest = ([words[0]], words[1:]) if words and words[0][:1] != "-" else ([], words)
    config = config or GPT2Config(n_layer=2, n_embd=128, n_head=4, n_positions=context)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text(joined(Path(given[0]) if given else None), "utf-8")
        gpt2_wikitext2.main([str(file), "--epochs", "1", *rest], config, context)


if __name__ == "__main__":
    run(main)
