"""What the page of error messages quotes stands in the sources, word for word."""

import re
from pathlib import Path

import drapps
from drapps.worker.recovery import WorkerDiedError
from drapps.worker.serialise import UnpicklableError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/errors.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
JOINED = re.compile(r'"\s+f?"')  # one text that is written in several pieces


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def quoted() -> list[str]:
    return [
        found
        for name, text in sections().items()
        if name != "Which class it is"
        for found in ROW.findall(text)
    ]


def sources() -> str:
    files = [
        *(ROOT / "python/drapps").rglob("*.py"),
        *(ROOT / "python/src").rglob("*.cc"),
        *(path for path in (ROOT / "src/drapps").rglob("*.cc") if not path.match("*_test.cc")),
    ]
    return JOINED.sub("", "\n".join(path.read_text() for path in files))


def test_every_quoted_message_stands_in_the_sources():
    text = sources()
    found = quoted()
    assert len(found) > 60
    assert [message for message in found if message not in text] == []


def test_no_message_is_explained_twice():
    found = quoted()
    assert sorted(set(found)) == sorted(found)


def test_every_class_of_error_is_on_the_page():
    listed = ROW.findall(sections()["Which class it is"])
    public = [name for name in drapps.__all__ if name.endswith("Error")]
    hidden = [f"{kind.__module__}.{kind.__name__}" for kind in (WorkerDiedError, UnpicklableError)]
    assert sorted(listed) == sorted([*(f"drapps.{name}" for name in public), *hidden])
