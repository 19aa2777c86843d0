"""Plain paragraphs out of pages, manual pages and sources."""

from __future__ import annotations

import gzip
import html
import re
from pathlib import Path

_HEAD = re.compile(
    r"<!--.*?-->|<(script|style|head|header|footer|nav|aside)\b.*?</\1\s*>", re.S | re.I
)
_BLOCK = re.compile(
    r"</?(p|div|h\d|li|ul|ol|dl|dt|dd|tr|td|th|table|pre|br|section|hr)\b[^>]*>", re.I
)
_TAG = re.compile(r"<[^>]+>")
_WORDS = re.compile(r"[ \t\r\f\v]+")
_ROFF_REMARK = re.compile(r"^['.]\\\".*$", re.M)
_ROFF_REQUEST = re.compile(r"^['.][ \t]*[A-Za-z]+[ \t]*", re.M)
_ROFF_ESCAPE = re.compile(r"\\(f(\[[^\]]*\]|\(..|.)|s[-+]?\d+|[&/,|^%:)]|\*?\[[^\]]*\]|\*?\(..)")
_EMPTY = re.compile(r"\n[ \t]*\n\s*")


def paragraphs(file: Path) -> list[str]:
    """The paragraphs of a file, by what its name ends in; NUL is nowhere in them."""
    data = file.read_bytes()
    name = file.name
    if name.endswith((".gz", ".dz")):
        data, name = gzip.decompress(data), file.stem
    text = data.decode("utf-8", "replace").replace("\0", "").replace("\r\n", "\n")
    if name.endswith((".html", ".htm")):
        text = page(text)
    elif re.search(r"\.[1-8][a-z]*$", name):
        text = manual(text)
    pieces = (each.strip("\n").rstrip() for each in _EMPTY.split(text))
    return [each for each in pieces if each]


def page(text: str) -> str:
    """Of HTML: blocks become paragraphs, white space within them a space."""
    text = _HEAD.sub("", text)
    text = _TAG.sub("", _BLOCK.sub("\n\n", text.replace("\n", " ")))
    blocks = (_WORDS.sub(" ", block).strip() for block in html.unescape(text).split("\n"))
    return "\n".join(blocks)


def manual(text: str) -> str:
    """Of roff: what requests and escapes leave of the words."""
    text = re.sub(
        r"^['.](PP|P|LP|TP|IP|SH|SS|sp)\b", r"\n\g<0>", _ROFF_REMARK.sub("", text), flags=re.M
    )
    text = _ROFF_ESCAPE.sub("", _ROFF_REQUEST.sub("", text))
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\ ", " ").replace("\\(aq", "'")
