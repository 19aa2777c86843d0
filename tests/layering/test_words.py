"""Words that were replaced by better ones stay away: one word, one idea, as HACKING.md lists them.

A changelog tells of the past, and may use any word.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("src", "python", "docs", "README.md", "HACKING.md")
KINDS = {".cc", ".h", ".md", ".py"}
DEPRECATION_TESTS = "python/tests/test_deprecation.py"


@dataclass(frozen=True)
class Word:
    """A retired word.

    Attributes:
        pattern: what it looks like.
        root: what every match begins with, in small letters, so that most files need no search.
        instead: what to say.
        name: whether it is retired as a name in code alone, and fine in a sentence.
        kept: files in which it goes on as a deprecated name.
    """

    pattern: str
    root: str
    instead: str
    name: bool = False
    kept: tuple[str, ...] = ()


def word(*forms: str) -> tuple[str, str]:
    """Any of these words, which begin alike, in sentences and as a part of names."""
    capital = "|".join(form.capitalize() for form in forms)
    pattern = rf"(?<![A-Za-z])(?i:{'|'.join(forms)})(?![a-z])|(?<=[a-z])(?:{capital})(?![a-z])"
    first = forms[0]
    return pattern, first if all(form.startswith(first) for form in forms) else first[:3]


def name(exact: str) -> tuple[str, str]:
    """Exactly this name, with or without underscores around it."""
    return rf"(?<![A-Za-z0-9]){exact}(?![A-Za-z0-9])", exact.lower()


def variable(*names: str) -> tuple[str, str]:
    """A variable of any of these names, or a member, where it gets its value."""
    name = rf"(?:{'|'.join(names)})_?"
    return rf"(?<![\w\"'.-])_?{name}(?= =(?!=)| :=|: [^\n]+ = )|(?<=self\.)_?{name}(?= = )", ""


RETIRED = [
    Word(*word("luggage"), "carried state, or carried"),
    Word(*word("guest", "guests"), "hosted worker"),
    Word(*word("strays"), "tasks of workers that have left"),
    Word(*word("stray"), "a task of a worker that has left", name=True),
    Word(*word("bury", "buries", "buried", "burial", "burials"), "reap"),
    Word(*word("crew", "crews"), "process pool"),
    Word(*word("hire", "hires", "hired", "hiring"), "start"),
    Word(r"(?i)\bprocess[-\s/*#]+engines?\b", "process", "worker processes"),
    Word(*name("Standing"), "ProcessKnob", name=True),
    Word(*name("Elastic"), "Autoscaler", name=True),
    Word(*name("EngineIterator"), "WorkerIterator"),
    Word(*name("ParkedArenas"), "SpareArenas"),
    Word(*name("TaskOrder"), "TaskRequest"),
    Word(*name("Station"), "BoardClient", name=True),
    Word(*name("Yielding"), "Releasable", name=True),
    Word(*variable("found", "told", "said", "made"), "what it is"),
    Word(*name("kLedgerSize"), "kMostBadSamples"),
    Word(*name("LedgerFile"), "BadSamplesFile"),
    Word(
        *name("ledger_file"),
        "bad_samples_file",
        kept=("python/drapps/pipeline.py", "python/drapps/torch/loader.py", DEPRECATION_TESTS),
    ),
    Word(
        *name("BudgetSampler"),
        "BucketBatchSampler",
        kept=("python/drapps/__init__.py", DEPRECATION_TESTS),
    ),
]


def files(root: Path) -> Iterator[Path]:
    """What people write and read; what a build generates is not there."""
    for place in PLACES:
        path = root / place
        yield from [path] if path.is_file() else sorted(path.rglob("*"))


def retired(root: Path) -> list[str]:
    """File and line of each retired word, and what to say instead."""
    problems = []
    for file in files(root):
        if file.suffix not in KINDS:
            continue
        shown = file.relative_to(root).as_posix()
        text = file.read_text()
        lowered, names = f"{shown}\n{text}".lower(), ""
        for one in RETIRED:
            if shown in one.kept or one.root not in lowered:
                continue
            if one.name:
                names = names or names_alone(text, file.suffix)
            elif re.search(one.pattern, shown):
                problems.append(f"{shown}: say {one.instead}")
            for match in re.finditer(one.pattern, names if one.name else text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{shown}:{line}: {match[0]!r}: say {one.instead}")
    return problems


def names_alone(text: str, kind: str) -> str:
    """The text with blanks in the place of sentences: code, and what stands in backticks."""
    kept = [match.span() for match in re.finditer(r"`[^`]+`", text)]
    if kind == ".py":
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                begin = starts[token.start[0] - 1] + token.start[1]
                kept.append((begin, begin + len(token.string)))
    elif kind != ".md":
        sentences = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\""
        end = 0
        for match in re.finditer(sentences, text, re.DOTALL):
            kept.append((end, match.start()))
            end = match.end()
        kept.append((end, len(text)))
    blank = [letter if letter == "\n" else " " for letter in text]
    for begin, end in kept:
        blank[begin:end] = text[begin:end]
    return "".join(blank)


def test_no_retired_word_is_in_use() -> None:
    assert len(list(files(ROOT))) > 300
    assert retired(ROOT) == []


@pytest.mark.parametrize(
    ("path", "text", "instead"),
    [
        ("src/drapps/x.h", "/// Its luggage.", "carried state, or carried"),
        ("docs/x.md", "A guest, or\nmany Guests.", "hosted worker"),
        ("python/drapps/x.py", "self._guests = 1", "hosted worker"),
        ("python/x.cc", "int strayCount, kStray, STRAY;", "a task of a worker that has left"),
        ("docs/x.md", "These are strays.", "tasks of workers that have left"),
        ("README.md", "they are buried", "reap"),
        ("python/x.py", "found = entry_of(name)", "what it is"),
        ("python/x.py", "if (made := of(it)) is None:", "what it is"),
        ("python/x.py", "self._told = 1", "what it is"),
        ("src/x.cc", "  const auto said = text();", "what it is"),
        ("src/x.h", "  bool found_ = false;", "what it is"),
        ("python/x.cc", 'module.def("bury", f);', "reap"),
        ("src/x.cc", "void buryDead();", "reap"),
        ("python/x.py", "class ProcessCrew: ...", "process pool"),
        ("python/x.py", "def test_a_crew(): hire_s = crews", "process pool"),
        ("python/x.py", "pool.hire(0)  # hired", "start"),
        ("HACKING.md", "the process engine", "worker processes"),
        ("python/x.py", '"""What the Process\nengine does."""', "worker processes"),
        ("src/x.h", "// of the process\n// engine", "worker processes"),
        ("src/x.h", "struct Standing {};", "ProcessKnob"),
        ("python/x.py", "from x import Standing", "ProcessKnob"),
        ("python/x.py", "class Elastic: ...", "Autoscaler"),
        ("docs/x.md", "It is an `Elastic`.", "Autoscaler"),
        ("python/x.py", "x: EngineIterator", "WorkerIterator"),
        ("src/x.h", "ParkedArenas parked;", "SpareArenas"),
        ("python/x.py", "x = LedgerFile(y)", "BadSamplesFile"),
        ("python/drapps/loader.py", "self._ledger_file = x", "bad_samples_file"),
        ("docs/guides/x.md", "`ledger_file=path`", "bad_samples_file"),
        ("docs/x.md", "drapps.BudgetSampler(...)", "BucketBatchSampler"),
        ("python/drapps/crew.py", "", "process pool"),
    ],
)
def test_a_retired_word_is_found(tmp_path: Path, path: str, text: str, instead: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text + "\n")
    problems = retired(tmp_path)
    assert problems and any(line.endswith(f"say {instead}") for line in problems), problems
    assert all(line.startswith(f"{path}:") for line in problems)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "docs/x.md",
            "Elastic workers are elastic. Standing still, in good standing. A stray file.",
        ),
        ("src/x.h", "// Elastic by design.\n/* Standing\n alone */ int higher, elastic, screws;"),
        ("src/x.cc", 'fail("Standing still");'),
        ("python/x.py", '"""Standing still."""\nelastic = {"Elastic": 1}  # Elastic\n'),
        ("python/x.py", "suggests, requests, ashtrays, busy, scrawled, process, engine = 1"),
        ("docs/x.md", "The engine of a process. Each process; engines."),
        ("python/drapps/pipeline.py", "ledger_file: str"),
        ("python/drapps/__init__.py", "_OLD_NAMES = {'BudgetSampler': 'BucketBatchSampler'}"),
        ("CHANGELOG.md", "`ledger_file` was the name."),
        ("tests/x.py", "crew = 1"),
        ("python/drapps/_core.pyi", "def bury(slot): ..."),
    ],
)
def test_other_words_are_left_alone(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text + "\n")
    assert retired(tmp_path) == []


def test_the_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "HACKING.md").write_text("One.\n\nThe\nprocess\nengine.\n")
    assert retired(tmp_path) == ["HACKING.md:4: 'process\\nengine': say worker processes"]
