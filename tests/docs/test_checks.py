"""``make docs`` finds links that lead nowhere and words that are none, and names their lines."""

import shutil
from pathlib import Path

import pytest

from tools.docs import links, spelling
from tools.docs.__main__ import placed
from tools.docs.links import anchors
from tools.docs.prose import prose_of_docstrings, prose_of_page

ROOT = Path(__file__).resolve().parents[2]
needs_dictionary = pytest.mark.skipif(
    shutil.which("hunspell") is None, reason="hunspell comes with tools/setup.sh docs"
)


def test_every_link_of_this_repository_leads_somewhere() -> None:
    assert links.problems(ROOT) == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Some pages, without a problem."""
    (tmp_path / "docs/guides").mkdir(parents=True)
    (tmp_path / "python/drapps").mkdir(parents=True)
    (tmp_path / "examples").mkdir()
    (tmp_path / "docs/words.txt").write_text("Philox\ndtype\n")
    (tmp_path / "README.md").write_text(
        "# A title\n\n[one](docs/index.md#a-title), [two](#a-title), [three](examples/)\n\n"
        "[four]: docs/guides/a.md\n\n```\n[not](a-link.md)\n```\n"
    )
    (tmp_path / "docs/index.md").write_text("# A title\n\n[five](guides/a.md#made-by-mkdocs)\n")
    (tmp_path / "docs/guides/a.md").write_text("[six](../index.md) [seven](http://localhost/x)\n")
    return tmp_path


def test_links_that_lead_somewhere_are_fine(repository: Path) -> None:
    assert links.problems(repository) == []


@pytest.mark.parametrize(
    ("page", "link", "complaint"),
    [
        ("README.md", "[x](docs/absent.md)", "there is no such file"),
        ("README.md", "[`x` y](docs/index.md#absent)", "there is no such heading"),
        ("README.md", "[x](#absent)", "there is no such heading"),
        ("README.md", "[x]: absent/", "there is no such file"),
        ("README.md", '<a href="absent.md">', "there is no such file"),
        ("README.md", "![x](absent.png 'title')", "there is no such file"),
        ("HACKING.md", "[x](../outside.md)", "leads out of the repository"),
        ("docs/guides/a.md", "[x](b.md)", "there is no such file"),
        ("docs/guides/a.md", "[x](/docs/index.md)", "write it relative to this page"),
        ("docs/guides/a.md", "[x](../../examples/)", "is no part of the site: name it as code"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(
    repository: Path, page: str, link: str, complaint: str
) -> None:
    (repository / page).write_text(f"# A\n\nSome words.\n{link}\n")
    (problem,) = [line for line in links.problems(repository) if line.startswith(page)]
    assert problem.startswith(f"{page}:4: ") and problem.endswith(f": {complaint}")


def test_headings_have_the_anchors_that_they_have_where_sources_are_shown() -> None:
    text = (
        "# `drapps.jax`, and [more](x.md)\n## Twice\n## Twice\n```\n# none\n```\n### a_b - c! #\n"
    )
    assert anchors(text) == {"drappsjax-and-more", "twice", "twice-1", "a_b---c"}


def test_a_complaint_of_mkdocs_gets_its_line(repository: Path) -> None:
    complaint = "WARNING -  Doc file 'index.md' contains a link 'guides/a.md#x', but there is none."
    (repository / "docs/index.md").write_text("# A\n\n[x](guides/a.md#x)\n")
    assert placed(complaint, repository / "docs") == f"docs/index.md:3: {complaint}"
    for line, expected in (
        ("  - guides/a.md", "docs/guides/a.md:1: not in the nav of mkdocs.yml"),
        ("WARNING -  griffe: python/x.py:7: No such parameter", "python/x.py:7: No such parameter"),
        ("another", "another"),
    ):
        assert placed(line, repository / "docs") == expected


def test_prose_is_what_people_read() -> None:
    page = (
        "# Wrong `code`\n\n``two ` code`` and `one\nline` [text](target.md)\n\n"
        "    indented\n\n```python\ncode\n```\n::: drapps.code\n<!-- code -->\n"
        "a.b.code https://code <b>bold</b>\n"
    )
    prose = prose_of_page(page)
    assert prose.split() == ["#", "Wrong", "and", "[text]", "indented", "bold"]
    assert prose.count("\n") == page.count("\n") and len(prose) == len(page)


def test_docstrings_are_read_without_code_and_arguments() -> None:
    module = (
        '"""Read.\n\n    code = 1\n"""\ncode = "code"  # code\n\n\nclass Code:\n'
        '    """Read ``code``.\n\n    Args (more):\n        code: read.\n            Read.\n'
        '\n    Read.\n    """\n'
    )
    assert [word for word, _ in spelling.words(prose_of_docstrings(module))] == [
        *("Read", "Read", "more", "read", "Read", "Read")
    ]


@needs_dictionary
def test_words_that_are_none_are_found_with_their_lines(repository: Path) -> None:
    (repository / "docs/guides/a.md").write_text(
        "Colour, `color`, Philox's dtypes.\n\nThe behavior; teh Dtype of JPEGs on x86.\n"
    )
    (repository / "python/drapps/x.py").write_text('"""Fine.\n\nRecieve it.\n"""\n')
    assert spelling.problems(repository) == [
        "docs/guides/a.md:1: dtypes",
        "docs/guides/a.md:3: behavior",
        "docs/guides/a.md:3: teh",
        "python/drapps/x.py:3: Recieve",
    ]


@needs_dictionary
def test_the_list_of_words_stays_sorted(repository: Path) -> None:
    (repository / "docs/words.txt").write_text("dtype\nPhilox\n")
    assert spelling.problems(repository) == ["docs/words.txt:1: not sorted: LC_ALL=C sort -u"]
