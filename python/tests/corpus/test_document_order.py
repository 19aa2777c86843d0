"""``shuffle(order="documents")``: all documents in one random order, each read by itself."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import drapps
from drapps.errors import PipelineError, SampleError
from python.tests.cells import some_full
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of
from python.tests.test_stream_format import order as permuted

COUNT = 3000


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return corpora.documents(COUNT)


@pytest.fixture(scope="module")
def files(texts, tmp_path_factory) -> dict[str, list[Path]]:
    """The same documents in two files of each kind."""
    folder = tmp_path_factory.mktemp("texts")
    halves = texts[:1234], texts[1234:]
    paths: dict[str, list[Path]] = {"lines": [], "jsonl": [], "arrow": []}
    for number, half in enumerate(halves):
        lines = folder / f"{number}.txt"
        lines.write_bytes("\r\n\n".join(half).encode())  # the last one has no end
        paths["lines"].append(lines)
        paths["jsonl"].append(folder / f"{number}.jsonl")
        paths["jsonl"][-1].write_bytes(corpora.json_lines(half) + b"\n \n")
        paths["arrow"].append(corpora.write_arrow(folder / f"{number}.arrow", half, rows=500))
    return paths


def one_by_one(path: Any, tokenizer: Any, **options: Any) -> Any:
    rows = drapps.text(path).tokenise(tokenizer, 40, eos=EOS, **options)
    return rows.shuffle(7, order="documents")


def start(tokenizer: Any, ids: list[int]) -> str:
    """The text of a document that is cut, perhaps within a character."""
    return str(tokenizer.decode(ids, skip_special_tokens=True)).rstrip("\ufffd")


@pytest.mark.parametrize(
    ("splits", "kind"),
    some_full([(1, "lines"), (1, "arrow"), (2, "lines"), (2, "arrow")], (1, "lines"), (2, "arrow")),
)
def test_the_order_is_that_of_an_epoch_of_samples(files, texts, tokenizer, kind, splits):
    loader = one_by_one(files[kind], tokenizer, splits=splits).batch(10, rows=2 * COUNT)
    rows = [ids for batch in loader.numpy() for ids in batch["input_ids"].tolist()]
    for epoch in (0, 1):
        order = permuted(COUNT, 7, epoch)
        for row, number in zip(rows[epoch * COUNT :], order, strict=False):
            prefix = start(tokenizer, row)
            assert prefix and texts[number].startswith(prefix)


def test_files_of_every_kind_have_the_same_rows(files, tokenizer):
    def rows(kind: str) -> Any:
        packed = drapps.text(files[kind]).pack(tokenizer, 100, eos=EOS)
        return rows_of(packed.shuffle(3, order="documents").batch(8, rows=800))

    lines = rows("lines")
    assert np.array_equal(rows("arrow"), lines)
    # A line without anything in it has a number there, and is passed over.
    jsonl = drapps.text(files["jsonl"]).tokenise(tokenizer, 8, eos=EOS, splits=1)
    epoch = jsonl.shuffle(3, order="documents").batch(8, rows=COUNT)
    assert len({tuple(ids) for b in epoch.numpy() for ids in b["input_ids"].tolist()}) > COUNT * 0.9


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_the_number_of_workers_changes_nothing(files, tokenizer, workers):
    pipeline = one_by_one(files["lines"], tokenizer, splits=2)

    def batches(**options: Any) -> list[Any]:
        loader = pipeline.batch(8, rows=400, **options)
        loader.freeze()
        return [batch["input_ids"].tolist() for batch in loader.numpy()]

    settings = pipeline.batch(8).export_settings()
    settings["knobs"]["workers"] = workers
    assert batches(settings=settings, cpu_budget=workers) == batches()


@pytest.mark.parametrize("packing", ["concatenate", "best_fit"])
def test_it_resumes_at_every_step(files, tokenizer, packing):
    def make_loader() -> Any:
        packed = drapps.text(files["arrow"]).pack(tokenizer, 300, eos=EOS, packing=packing)
        return packed.shuffle(4, order="documents").batch(4, rows=120)

    whole = rows_of(make_loader())
    loader = make_loader()
    for step, _ in enumerate(itertools.islice(loader, 29)):
        again = make_loader()
        again.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert np.array_equal(next(again.numpy())["input_ids"], whole[4 * step + 4 :][:4])


def test_ranks_have_the_rows_of_one_together(files, tokenizer):
    pipeline = one_by_one(files["lines"], tokenizer, splits=2)
    together = [ids for b in pipeline.batch(8, rows=400).numpy() for ids in b["index"].tolist()]
    ranks = [
        [i for b in pipeline.shard(r, 2).batch(4, rows=400).numpy() for i in b["index"].tolist()]
        for r in range(2)
    ]
    assert sorted(together) == sorted(itertools.chain(*ranks))


def test_the_documents_of_a_step_are_found(files, tokenizer):
    loader = one_by_one(files["lines"], tokenizer).batch(8, rows=400)
    content = {str(path): path.read_bytes() for path in files["lines"]}
    batch = next(loader.numpy())
    for each in loader.documents(0):
        text = content[each.path][each.at :].splitlines()[0].decode()
        prefix = start(tokenizer, batch["input_ids"][each.row].tolist())
        assert text.startswith(prefix)


@pytest.mark.parametrize("kind", some_full(["lines", "arrow"], "arrow"))
def test_an_epoch_of_documents_by_themselves_ends(files, texts, tokenizer, kind):
    rows = drapps.text(files[kind]).tokenise(tokenizer, 60, eos=EOS, long="split", overlap=3)
    loader = rows.shuffle(2, order="documents").batch(8, rows="epoch")
    wanted = sum(1 + max(0, -(-(len(tokenizer.encode(text)) - 59) // 56)) for text in texts)
    for _ in range(2):
        seen = []
        for batch in loader.numpy():
            for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
                if mask.any():
                    seen.append(start(tokenizer, ids[mask == 1].tolist()))
        assert len(seen) == wanted
        numbers = {int(word) for text in seen if (word := text.split(" ")[0]).isdecimal()}
        assert numbers >= set(range(COUNT))


@pytest.mark.parametrize("kind", some_full(["lines", "arrow"], "lines"))
def test_an_epoch_of_packed_documents_ends(files, texts, tokenizer, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    empty = corpora.write_lines(tmp_path / "empty.txt", [])
    named = [files[kind][0], *([empty] if kind == "lines" else []), files[kind][1]]
    packed = drapps.text(named).pack(tokenizer, 64, eos=EOS, splits=2)
    loader = packed.shuffle(5, order="documents").batch(4, rows="epoch")
    eos = tokenizer.encode_token(EOS)[0]
    orders = []
    for _ in range(2):
        batches = list(loader.numpy())
        ids = np.concatenate([batch["input_ids"] for batch in batches])
        used = np.concatenate([batch["attention_mask"] for batch in batches]).astype(bool)
        documents: list[str] = []
        for split in range(2):
            stream = ids[split::2][used[split::2]]
            parts = np.split(stream, np.flatnonzero(stream == eos) + 1)
            assert len(parts.pop()) == 0
            documents += [tokenizer.decode(part[:-1].tolist()) for part in parts]
        assert sorted(documents) == sorted(texts)
        orders.append(documents)
    assert orders[0] != orders[1]


def test_some_may_be_held_out(files, tokenizer):
    training, held = drapps.text(files["lines"]).hold_out(0.3)
    seen = []
    for part in (training, held):
        rows = part.tokenise(tokenizer, 12, eos=EOS, splits=1).shuffle(1, order="documents")
        loader = rows.batch(1, rows=500)
        seen.append({tuple(b["input_ids"][0].tolist()) for b in loader.numpy()})
    assert not seen[0] & seen[1]


def test_sources_of_a_mixture_have_each_their_own(files, tokenizer):
    parts = [drapps.text(files["lines"]), drapps.text(files["arrow"])]
    rows = drapps.mixture(parts, [0.5, 0.5]).tokenise(tokenizer, 40, eos=EOS, splits=1)
    loader = rows.shuffle(7, order="documents").batch(2, rows=2 * COUNT)
    of_first = [
        ids
        for b in loader.numpy()
        for ids, source in zip(b["input_ids"].tolist(), b["source"].tolist(), strict=True)
        if source == 0
    ]
    alone = one_by_one(files["lines"], tokenizer, splits=1).batch(1, rows=COUNT)
    for row, batch in zip(of_first, alone.numpy(), strict=True):
        wanted = batch["input_ids"][0].tolist()
        assert row[: len(wanted)] == wanted


def test_what_cannot_be_read_one_by_one_is_refused(files, tokenizer, tmp_path):
    content = files["jsonl"][0].read_bytes()
    for file in (
        corpora.write_zstd(tmp_path / "texts.jsonl.zst", content),
        corpora.write_gzip(tmp_path / "texts.jsonl.gz", content),
    ):
        with pytest.raises(PipelineError, match=rf"{file.name}.*shuffle blocks"):
            one_by_one(file, tokenizer).batch(2)
    with pytest.raises(PipelineError, match="row groups"):
        one_by_one("texts.parquet", tokenizer)
    with pytest.raises(PipelineError, match="order"):
        drapps.text(files["lines"]).tokenise(tokenizer, 8).shuffle(1, order="rows")  # type: ignore[arg-type]
    fitted = drapps.text(files["lines"]).pack(tokenizer, 64, eos=EOS, packing="best_fit")
    with pytest.raises(PipelineError, match="shuffle blocks"):
        fitted.shuffle(1, order="documents").batch(2, rows="epoch")
    with pytest.raises(PipelineError, match="shuffle blocks"):
        one_by_one(files["lines"], tokenizer).batch(token_budget=400, batches="epoch")
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"\n\n\n")
    with pytest.raises(PipelineError, match="no documents"):
        one_by_one(empty, tokenizer).batch(2)
    with pytest.raises(PipelineError, match=r"splits=4 .* 3 times 1024 documents"):
        one_by_one(files["lines"], tokenizer, splits=4).batch(2)


def test_bad_documents_are_named_and_left_out(tokenizer, tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_bytes(
        b'{"text": "one"}\n{"text": 2}\n{"te\n{"text": "\xff"}\n'
        + b'{"text": "'
        + b"x" * 2000
        + b'"}\n{"text": "six"}\n'
    )
    rows = drapps.text(file, max_document=1000).tokenise(tokenizer, 8, eos=EOS, splits=1)
    loader = rows.on_error("skip").shuffle(1, order="documents").batch(1, rows=20)
    documents = {
        tokenizer.decode(b["input_ids"][0].tolist(), skip_special_tokens=True)
        for b in loader.numpy()
    }
    assert documents == {"one", "six"}
    bad = {each.offset: each.message for each in loader.bad_samples()}
    begins = [16, 28, 33, 47]
    assert sorted(bad) == begins
    assert "max_document" in bad[47]
    with pytest.raises(SampleError, match=r"texts\.jsonl"):
        list(rows.shuffle(1, order="documents").batch(1, rows=20))


def test_a_file_that_has_changed_is_an_error(tokenizer, tmp_path):
    file = corpora.write_lines(tmp_path / "texts.txt", corpora.documents(100))
    loader = one_by_one(file, tokenizer).batch(2, rows=20)
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(SampleError, match="no good documents"):
        next(iter(loader))
    assert "changed" in loader.bad_samples()[0].message
