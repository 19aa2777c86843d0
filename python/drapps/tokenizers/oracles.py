"""Whether the Unicode of an installed library is that of our tables, which were swept from it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# Versions that the tables were swept from, and what a sweep of them comes to.
SWEPT = {"tokenizers": "0.23.3", "tiktoken": "0.14.0"}
DIGESTS = {
    "tokenizers": "11003e99cddec316b2f5bce3afd50dd4",
    "tiktoken": "386f078bd6bce4822663b0d4983ae7fe",
}
CLASSES = (
    r"\p{L}",
    r"\p{N}",
    r"\s",
    r"\p{M}",
    r"[\p{P}\p{S}]",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
)
FEW = r"[\p{M}\p{N}\s\p{P}\p{S}]"


@cache
def difference(library: str) -> str:
    """Why our tables are not those of the installed library; nothing where they are, or it is none.

    A version that is not known is swept once, which takes some seconds, and what it came to is
    kept in the user's cache folder.
    """
    version = installed(library)
    if version in ("", SWEPT[library]) or _kept_digest(library, version) == DIGESTS[library]:
        return ""
    return f"the Unicode of {library} {version}, which is not that of {SWEPT[library]}"


@cache
def installed(library: str) -> str:
    """The version of a library, or nothing."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def oracle(library: str) -> str:
    """What ids are those of, for people."""
    version = installed(library)
    if not version:
        return f"{library} {SWEPT[library]}, as none is installed"
    known = version == SWEPT[library]
    return f"{library} {version}" if known else f"{library} {version}, which was swept here"


def digest_of(library: str) -> str:
    """What every code point comes to in each class of characters and each normal form."""
    sweep: dict[str, Callable[[Any], None]] = {
        "tokenizers": _sweep_tokenizers,
        "tiktoken": _sweep_tiktoken,
    }
    digest = hashlib.blake2b(digest_size=16)
    sweep[library](digest)
    return digest.hexdigest()


def _everything() -> list[str]:
    return [chr(point) for point in [*range(0xD800), *range(0xE000, 0x110000)]]


def _sweep_tokenizers(digest: Any) -> None:
    from tokenizers import Regex, normalizers, pre_tokenizers

    def members(pattern: str, text: str) -> str:
        split = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed", invert=True)
        return "".join(piece for piece, _ in split.pre_tokenize_str(text))

    chars = _everything()
    text = "".join(chars)
    # Each takes a second: letters are what is in the first two and no mark, and all else is few.
    few = members(FEW, text)
    for kept in (
        *(members(pattern, text) for pattern in CLASSES[5:]),
        *(members(pattern, few) for pattern in CLASSES[:5]),
    ):
        digest.update(kept.encode() + b"\0")
    apart = "\0".join(chars)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        normal = getattr(normalizers, form)()
        digest.update(normal.normalize_str(apart).encode())
    # Where normalisation puts each character beside a mark of the highest combining class.
    digest.update(normalizers.NFD().normalize_str("\0a\u0345".join(chars)).encode())


def _sweep_tiktoken(digest: Any) -> None:
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    text = "".join(_everything())
    for pattern in CLASSES:
        encoding = tiktoken.Encoding(
            "sweep", pat_str=f"{pattern}+", mergeable_ranks=ranks, special_tokens={}
        )
        digest.update(bytes(encoding.encode_ordinary(text)))


def _kept_digest(library: str, version: str) -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    place = Path(base) / "drapps" / "tokenizers" / f"{library}-{version}-{len(CLASSES)}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads(place.read_text("utf-8"))["digest"])
    digest = digest_of(library)
    with contextlib.suppress(OSError):  # then it is swept again next time
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({"digest": digest}), "utf-8")
        new.replace(place)
    return digest
