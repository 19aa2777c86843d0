"""Real text in many languages, and code, out of Debian's packages.

    build/bench/tokenizers/packages/       the packages, downloaded once; nothing is installed
    build/bench/tokenizers/text/NAME.txt   documents with NUL between them, their order drawn

Markup is stripped, and no paragraph comes twice. What is not translated is not in a language's
text, and a paragraph of Chinese, Japanese or Korean has at least 60 % of other than ASCII.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestant import ROOT, ContestantError
from benchmarks.tokenizers import markup

PLACE = ROOT / "build/bench/tokenizers"
_LONG = 30_000  # letters, after which a document ends: a dictionary in one file is none
_HELP = "usr/share/libreoffice/help"
_MANUAL = "usr/share/man"


@dataclass(frozen=True)
class Corpus:
    """Where a text comes from.

    Attributes:
        parts: packages, and the files of each that are read.
        dense: of a script whose letters are not ASCII's; paragraphs that have too few are left out.
        english: whether paragraphs that stand in `ENGLISH_HELP` stay.
    """

    parts: tuple[tuple[str, str], ...]
    dense: bool = False
    english: bool = False


def _help(language: str, *more: tuple[str, str], dense: bool = False, folder: str = "") -> Corpus:
    folder = folder or language
    part = (f"libreoffice-help-{language}", f"{_HELP}/{folder}/text/**/*.html")
    return Corpus((part, *more), dense)


def _manuals(language: str, *packages: str) -> tuple[tuple[str, str], ...]:
    return tuple((package, f"{_MANUAL}/{language}*/man*/*.gz") for package in packages)


_ENGLISH_HELP = ("libreoffice-help-en-us", f"{_HELP}/en-US/text/**/*.html")
_PYTHON = ("libpython3.11-stdlib", "usr/lib/python3.11/**/*.py")

CORPORA: dict[str, Corpus] = {
    "english": Corpus(
        (
            _ENGLISH_HELP,
            ("linux-doc-6.1", "usr/share/doc/linux-doc-6.1/Documentation/[!t]*/**/*.rst.gz"),
            ("dict-gcide", "usr/share/dictd/gcide.dict.dz"),
            ("openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless/api/**/*.html"),
            ("anarchism", "usr/share/doc/anarchism/**/*.html"),
            ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/**/*.html"),
        ),
        english=True,
    ),
    "code": Corpus(
        (
            _PYTHON,
            ("golang-1.19-src", "usr/share/go-1.19/src/**/*.go"),
            ("libboost1.81-dev", "usr/include/boost/**/*.hpp"),
            ("rust-src", "usr/src/rustc-*/**/*.rs"),
        ),
        english=True,
    ),
    "chinese": _help(
        "zh-cn",
        ("libreoffice-help-zh-tw", f"{_HELP}/zh-TW/text/**/*.html"),
        *_manuals("zh", "manpages-zh"),
        dense=True,
        folder="zh-CN",
    ),
    "japanese": _help("ja", *_manuals("ja", "manpages-ja", "manpages-ja-dev"), dense=True),
    "korean": _help("ko", dense=True),
    "german": _help("de", *_manuals("de", "manpages-de")),
    "french": _help("fr", *_manuals("fr", "manpages-fr")),
    "spanish": _help("es", *_manuals("es", "manpages-es")),
    "italian": _help("it", *_manuals("it", "manpages-it")),
    "portuguese": _help("pt-br", folder="pt-BR"),
    "polish": _help("pl", *_manuals("pl", "manpages-pl")),
    "russian": _help("ru", *_manuals("ru", "manpages-ru")),
    "turkish": _help("tr", *_manuals("tr", "manpages-tr")),
    "hindi": _help("hi"),
    "vietnamese": _help("vi", *_manuals("vi", "manpages-vi")),
    "greek": _help("el"),
    "czech": _help("cs", *_manuals("cs", "manpages-cs")),
    "dutch": _help("nl", *_manuals("nl", "manpages-nl")),
}
LANGUAGES = tuple(name for name in CORPORA if name not in ("english", "code"))
MIXED = (
    *("chinese", "japanese", "german", "french", "spanish", "italian"),
    *("portuguese", "polish", "russian", "turkish", "greek", "czech"),
)

# What little text a cut needs: one package of each.
CUT: dict[str, Corpus] = {
    "english": Corpus((_ENGLISH_HELP,), english=True),
    "code": Corpus((_PYTHON,), english=True),
    "chinese": _help("zh-cn", dense=True, folder="zh-CN"),
    "japanese": _help("ja", dense=True),
    "german": _help("de"),
    "russian": _help("ru"),
}


def ensure(name: str, full: bool = True) -> Path:
    """The file of a text, made on its first use.

    Raises:
        ContestantError: a package can neither be found nor downloaded.
    """
    corpus = (CORPORA if full else CUT)[name]
    file = PLACE / "text" / f"{name}{'' if full else '-cut'}.txt"
    if not file.is_file():
        print(f"  text: {name}, of {', '.join(package for package, _ in corpus.parts)}", flush=True)
        known: set[str] = set() if corpus.english else set(_paragraphs(_ENGLISH_HELP))
        pieces = list(_documents(corpus, known))
        random.Random(name).shuffle(pieces)
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".part")
        new.write_text("\0".join(pieces), encoding="utf-8")
        new.replace(file)
    return file


def documents(file: Path) -> list[bytes]:
    """Of a file that `ensure` has made."""
    return file.read_bytes().split(b"\0")


def _documents(corpus: Corpus, seen: set[str]) -> Iterator[str]:
    """A document for each file or piece of it, of the paragraphs that none before it has."""
    for part in corpus.parts:
        for file in _files(part):
            kept: list[str] = []
            for each in markup.paragraphs(file):
                if sum(map(len, kept)) > _LONG:
                    yield "\n\n".join(kept)
                    kept = []
                if each not in seen and not (corpus.dense and _sparse(each)):
                    kept.append(each)
                seen.add(each)
            if kept:
                yield "\n\n".join(kept)


def _sparse(paragraph: str) -> bool:
    """Whether less than 60 % of it is other than ASCII."""
    return sum(not letter.isascii() for letter in paragraph) < 0.6 * len(paragraph)


def _paragraphs(part: tuple[str, str]) -> Iterator[str]:
    for file in _files(part):
        yield from markup.paragraphs(file)


def _files(part: tuple[str, str]) -> Iterator[Path]:
    """The files of a package, unpacked for as long as they are read."""
    package, pattern = part
    with tempfile.TemporaryDirectory(dir=_packages()) as folder:
        unpack = ["dpkg-deb", "-x", str(_package(package)), folder]
        subprocess.run(unpack, check=True)
        matches = sorted(file for file in Path(folder).glob(pattern) if not file.is_symlink())
        files = [file for file in matches if file.is_file()]
        if not files:
            raise ContestantError(f"the package {package} has no {pattern}")
        yield from files


def _packages() -> Path:
    place = PLACE / "packages"
    place.mkdir(parents=True, exist_ok=True)
    return place


def _package(name: str) -> Path:
    """The package's file, downloaded unless it is there."""
    place = _packages()
    if kept := sorted(place.glob(f"{name}_*.deb")):
        return kept[-1]
    if shutil.which("apt-get") is None:
        raise ContestantError(
            f"the text needs Debian's package {name}, and here is no apt-get: put {name}_*.deb "
            f"into {place.relative_to(ROOT)}"
        )
    with tempfile.TemporaryDirectory(dir=place) as folder:
        commands = [["apt-get", "-qq", "download", name]]
        if _run(commands[0], folder):
            commands.insert(0, ["apt-get", "-qq", "update"])  # without lists nothing is found
            errors = [error for error in (_run(each, folder) for each in commands) if error]
            if not list(Path(folder).glob("*.deb")):
                raise ContestantError(f"apt-get cannot download {name}: {(errors or ['?'])[-1]}")
        (archive,) = Path(folder).glob("*.deb")
        return archive.rename(place / archive.name)


def _run(command: Sequence[str], folder: str) -> str:
    """Runs a command; returns the last line that it says of a failure."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if not done.returncode:
        return ""
    return (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
