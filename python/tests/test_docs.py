"""The Python blocks of the documentation run, page by page, in a folder that holds photos/.

Where text is read there are corpus/ and a tokenizer beside them.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line and text of each Python block."""
    text = page.read_text()
    return [
        (text.count("\n", 0, fence.start(2)) + 1, fence[2])
        for fence in FENCE.finditer(text)
        if fence[1] == "python"
    ]


WITH_BLOCKS = [page for page in PAGES if blocks(page)]
MARKS = {
    "jax.md": pytest.mark.jax,
    "scenarios.md": pytest.mark.full,  # it plays some
    "checkpointing.md": pytest.mark.full,  # it plans, and trains
    "coming-from.md": pytest.mark.full,  # it imports every framework
    "tensorflow.md": pytest.mark.full,  # which is imported elsewhere
}

OF_A_PROCESS = {"budgets.md"}  # what it shows is of the process, where other tests have had loaders


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=MARKS.get(page.name, ())) for page in WITH_BLOCKS],
    ids=[str(page.relative_to(ROOT)) for page in WITH_BLOCKS],
)
def test_the_blocks_of_a_page_run_one_after_the_other(page, photos, tmp_path, monkeypatch):
    code = blocks(page)
    if any("torch" in text for _, text in code):
        pytest.importorskip("torch")
        pytest.importorskip("torchvision")
    for name in ("accelerate", "datasets", "jax", "lightning", "tensorflow", "transformers"):
        used = rf"^(import|from) (drapps\.)?{name}\b"
        if any(re.search(used, text, re.MULTILINE) for _, text in code):
            pytest.importorskip(name)
    if any("accelerate.data_loader.DataLoader =" in text for _, text in code):
        theirs = pytest.importorskip("accelerate.data_loader")
        monkeypatch.setattr(theirs, "DataLoader", theirs.DataLoader)  # which the page replaces
    (tmp_path / "photos").symlink_to(photos)
    if any("drapps.text(" in text or '"corpus"' in text for _, text in code):
        pytest.importorskip("tokenizers")
        write_corpus(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    script = ""
    for line, text in code:
        script += "\n" * (line - 1 - script.count("\n")) + text
    if page.name in OF_A_PROCESS:
        subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    else:
        exec(compile(script, str(page), "exec"), {"__name__": "__docs__"})


def write_corpus(folder: Path) -> None:
    """A folder of text, and a tokenizer."""
    from python.tests.corpus import corpora

    for name in ("corpus", "web", "code"):
        (folder / name).mkdir()
        (folder / name / "some.jsonl").write_bytes(corpora.json_lines(corpora.documents(200)))
    shutil.copy(corpora.tokenizer_file(), folder / "tokenizer.json")


def test_pages_that_should_have_blocks_have_them():
    assert {
        "README.md",
        "five-minutes.md",
        "torch.md",
        "resume.md",
        "bad-files.md",
        "sources.md",
    } <= {page.name for page in WITH_BLOCKS}


def test_every_link_within_the_repository_leads_somewhere():
    for page in [*PAGES, *(ROOT / name for name in ("HACKING.md", "CHANGELOG.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
