"""Which documents a step of text has had, and steps that are left out."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import drapps
from drapps.errors import PipelineError, StateError
from python.tests.cells import some_full
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 128


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return corpora.documents(3000)


@pytest.fixture(scope="module")
def lines(texts, tmp_path_factory):
    return corpora.write_lines(tmp_path_factory.mktemp("steps") / "texts.txt", texts)


@pytest.fixture
def make(lines, tokenizer) -> Any:
    def build(rows: int | None = 240, size: int = 4, rank: int = 0, world: int = 1) -> Any:
        pipeline = drapps.text(lines).pack(tokenizer, LENGTH, eos=EOS, splits=2).shuffle(4)
        return pipeline.shard(rank, world).batch(size, rows=rows)

    return build


def pipelines(path: Any, tokenizer: Any) -> dict[str, Any]:
    packed = drapps.text(path).pack(tokenizer, LENGTH, eos=EOS).shuffle(1)
    fitted = drapps.text(path).pack(tokenizer, LENGTH, eos=EOS, packing="best_fit").shuffle(1)
    padded = drapps.text(path).tokenise(tokenizer, LENGTH, eos=EOS, long="split").shuffle(1)
    return {
        "packed": packed.batch(4, rows=400),
        "best_fit": fitted.batch(4, rows=400),
        "padded": padded.batch(4, rows=400),
        "budget": padded.batch(token_budget=1000, batches=100),
    }


@pytest.mark.parametrize(
    ("kind", "how"),
    some_full(
        [
            (kind, how)
            for kind in ("lines", "jsonl", "zstd", "parquet", "arrow")
            for how in ("packed", "best_fit", "padded", "budget")
        ],
        *(("lines", "packed"), ("jsonl", "padded"), ("zstd", "best_fit"), ("parquet", "budget")),
        *(("arrow", "packed"), ("lines", "budget")),
    ),
)
def test_the_documents_of_a_step_are_found(texts, lines, tokenizer, tmp_path, how, kind):
    path, text_at = files_of(kind, texts, lines, tmp_path)
    loader = pipelines(path, tokenizer)[how]
    batches = list(itertools.islice(loader.numpy(), 30))
    for step in (0, 17, 29):
        batch, documents = batches[step], loader.documents(step)
        assert {each.path for each in documents} == {str(path)}
        rows = np.asarray(batch["input_ids"])
        for row, ids in enumerate(rows):
            parts = [text_at(each) for each in documents if each.row == row]
            mask = batch["attention_mask"][row] if "attention_mask" in batch else ids >= 0
            held = tokenizer.decode(ids[mask == 1].tolist(), skip_special_tokens=False)
            wanted = held.removesuffix(EOS).split(EOS)
            assert len(parts) == len(wanted)
            for text, piece in zip(parts, wanted, strict=True):
                assert piece.strip("\ufffd") in text


def files_of(kind: str, texts: list[str], lines: Any, folder: Any) -> Any:
    """A file with the documents, and what reads one by its place in it."""
    if kind == "lines":
        content = lines.read_bytes()
        return lines, lambda each: content[each.at :].split(b"\n")[0].decode()
    if kind == "arrow":
        path = corpora.write_arrow(folder / "texts.arrow", texts, rows=700)
        return path, lambda each: texts[each.at]
    if kind == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = folder / "texts.parquet"
        parquet.write_table(arrow.table({"text": texts}), path, row_group_size=1100)
        return path, lambda each: texts[each.block * 1100 + each.at]
    content = corpora.json_lines(texts)
    frame = 1_500_001

    def read(each: Any) -> str:
        at = each.at if kind == "jsonl" else begins[each.block] + each.at
        return str(json.loads(content[at:].split(b"\n")[0])["text"])

    path = folder / f"texts.jsonl{'.zst' if kind == 'zstd' else ''}"
    if kind == "jsonl":
        path.write_bytes(content)
        return path, read
    begins, whole = {}, b""
    import pyarrow

    for begin in range(0, len(content), frame):
        begins[len(whole)] = begin
        part = content[begin : begin + frame]
        whole += pyarrow.Codec("zstd").compress(part, asbytes=True)
    path.write_bytes(whole)
    return path, read


def test_a_state_says_where_to_look(make):
    loader = make(rows=None)
    for _ in itertools.islice(loader, 20):
        state = loader.state_dict()
    wanted = loader.documents(25)
    assert wanted
    assert make(rows=None).documents(25, state=state) == wanted
    assert make(rows=None).documents(25, epoch=0) == wanted
    assert make(rows=None).documents(25, epoch=1) != wanted
    with pytest.raises(PipelineError, match="ends before"):
        make().documents(60)
    with pytest.raises(StateError, match="kind"):
        make().documents(3, state={})


def test_a_mixture_names_the_files_of_each_source(texts, tokenizer, tmp_path):
    paths = [corpora.write_lines(tmp_path / f"{name}.txt", texts) for name in "ab"]
    mixed = drapps.mixture([drapps.text(path) for path in paths], [0.5, 0.5])
    loader = mixed.pack(tokenizer, LENGTH, eos=EOS).shuffle(1).batch(6)
    source = next(loader.numpy())["source"]
    for each in loader.documents(0):
        assert each.path == str(paths[source[each.row]])


def test_steps_are_left_out(make):
    whole = rows_of(make())
    loader = make()
    loader.skip_steps(10, 13)
    loader.skip_steps(20, 21)
    kept = np.r_[0:40, 52:80, 84:240]
    assert len(loader) == 56
    assert np.array_equal(rows_of(loader), whole[kept])
    assert loader.state_dict()["epoch"] == 1
    loader.set_epoch(1)
    assert len(rows_of(loader)) == 240  # they were those of epoch 0
    loader.set_epoch(0)
    torch = pytest.importorskip("torch")
    ahead = torch.cat([batch["input_ids"] for batch in loader.torch()]).numpy()
    assert np.array_equal(ahead, whole[kept])


def test_the_state_leaves_them_out_too(make):
    whole = rows_of(make())
    loader = make()
    loader.skip_steps(10, 13)
    for step, _ in enumerate(loader):
        state = json.loads(json.dumps(loader.state_dict()))
        if step in (4, 8, 9, 10, 30):
            again = make()
            again.load_state_dict(state)
            kept = np.r_[0:40, 52:240]
            assert np.array_equal(rows_of(again), whole[kept[4 * (step + 1) :]])
    states = [make(rank=rank, world=2, size=2) for rank in range(2)]
    for each in states:
        each.skip_steps(10, 13)
        for _ in itertools.islice(each, 7):
            pass
    saved = [each.state_dict() for each in states]
    one = make(size=6)  # steps of another size: what they share with those is left out, too
    one.load_state_dict(saved)
    rows = rows_of(one)
    assert np.array_equal(rows, whole[np.r_[28:40, 52:238]])


def test_the_documents_of_a_step_do_not_move_by_what_is_left_out(make):
    wanted = make().documents(30)
    loader = make()
    loader.skip_steps(3, 9)
    for _ in itertools.islice(loader, 15):
        pass
    assert loader.documents(30) == wanted


@pytest.mark.parametrize(("first", "behind"), [(3, 3), (-1, 4), (2.5, 4)])
def test_steps_that_there_cannot_be_are_refused(make, first, behind):
    with pytest.raises(PipelineError):
        make().skip_steps(first, behind)


def test_an_edited_state_is_refused(make):
    loader = make()
    loader.skip_steps(1, 2)
    state = {**loader.state_dict(), "skipped": [["x", 1, 2]]}
    with pytest.raises(StateError, match="skipped"):
        make().load_state_dict(state)
