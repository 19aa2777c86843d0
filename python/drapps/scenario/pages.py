"""Pages that need no other file and no script; plots stand in `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path


def document(title: str, body: str) -> str:
    """A whole page around what stands in its body, which is HTML."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main>{body}\n</main></body></html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], css: str = "") -> str:
    """A table of texts; the class ``log`` has all of them on the left."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f'<table class="{css}">{row("th", head)}{body}</table>'
