"""Links between the pages of the repository: each leads to a file, and to a heading of it."""

import re
from pathlib import Path

from tools.docs.prose import line_of, pages, without_code

LINK = re.compile(
    r"(?m)(?<=\])\(<?([^)>\s]+)>?[^)\n]*\)|^\[[^]]+\]:\s*<?([^\s>]+)|href=\"([^\"]+)\""
)
HEADING = re.compile(r"(?m)^#+ +(.+?)[ #]*$")


def problems(root: Path) -> list[str]:
    """File, line and complaint of each link that leads nowhere.

    Anchors of one page of the site on another are left to MkDocs, which makes them.
    """
    complaints = []
    for page in pages(root):
        text = without_code(page.read_text())
        for link in LINK.finditer(text):
            target = next(filter(None, link.groups()))
            if complaint := _complaint(page, target, root):
                shown = page.relative_to(root)
                complaints.append(f"{shown}:{line_of(text, link.start())}: {target}: {complaint}")
    return complaints


def _complaint(page: Path, target: str, root: Path) -> str:
    if re.match(r"[a-z]+:", target):
        return ""
    name, _, anchor = target.partition("#")
    if name.startswith("/"):
        return "write it relative to this page"
    other = page if not name else (page.parent / name).resolve()
    if not other.is_relative_to(root):
        return "leads out of the repository"
    if not other.exists():
        return "there is no such file"
    site = root / "docs"
    if page.is_relative_to(site):
        if not other.is_relative_to(site):
            return "is no part of the site: name it as code"
        return ""
    if anchor and other.suffix == ".md" and anchor not in anchors(other.read_text()):
        return "there is no such heading"
    return ""


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings have where its source is shown, as GitHub makes them."""
    slugs: set[str] = set()
    fences = re.compile(r"(?ms)^ *(```+|~~~+).*?^ *\1.*?$")
    for heading in HEADING.findall(fences.sub("", text)):
        words = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in slugs:
            number += 1
        slugs.add(name)
    return slugs
