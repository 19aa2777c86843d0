"""Scenario text: what it makes its inputs of, and what its contestants answer."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.contestant import ROOT, Contestant, python
from benchmarks.tokenizers import corpora

pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")  # with which datasets reads the files
pytest.importorskip("quicktok")
pytest.importorskip("tokenizers")
pytest.importorskip("datasets")

from benchmarks.text import compare, data, stock

SETTINGS = data.Settings("small", False, ("english", "code"), 100_000)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    place = tmp_path_factory.mktemp("text")
    documents = {
        name: [f"{name} {number} of some words\n".encode() * (number % 40) for number in range(900)]
        for name in SETTINGS.texts
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "PLACE", place)
        patch.setattr(corpora, "ensure", lambda name, _full: name)
        patch.setattr(corpora, "documents", documents.__getitem__)
        files = [str(file) for file in data.ensure(SETTINGS)]
    tokenizer = str(data.tokenizer_file())
    return {"files": files, "tokenizer": tokenizer, "length": 64, "batch": 8}


def test_texts_take_turns_and_empty_documents_are_left_out(spec):
    import pyarrow

    lines = [
        json.loads(line)
        for file in spec["files"]
        for line in pyarrow.input_stream(file).read().splitlines()
    ]
    assert [line["text"].split()[0] for line in lines[:4]] == ["english", "code", "english", "code"]
    assert all(line["text"] for line in lines)
    size = sum(len(line["text"]) for line in lines)
    assert SETTINGS.size - 2000 < size <= SETTINGS.size
    assert len(spec["files"]) == data.FILES


@pytest.mark.full
def test_the_rows_of_the_stock_libraries_are_compared_first(spec):
    command = [*python("benchmarks.text.compare"), json.dumps(spec)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10 * 512


@pytest.mark.full
def test_rows_that_differ_are_named(spec, monkeypatch):
    mapped = stock.mapped
    last_first = spec["files"][::-1]
    monkeypatch.setattr(stock, "mapped", lambda _files, *more: mapped(last_first, *more))
    monkeypatch.setattr(sys, "argv", ["compare", json.dumps(spec)])
    with pytest.raises(SystemExit, match="input_ids of batch 0 are not those of datasets"):
        compare.main()


def test_stock_rows_are_whole_and_drop_the_rest(spec):
    stock.load(spec["tokenizer"])
    documents = {"text": ["some words", "and some more of them"]}
    whole = [token for each in stock.ids(documents)["input_ids"] for token in each]
    rows = stock.rows(documents, 3)["input_ids"]
    assert np.array_equal(rows.ravel(), whole[: len(whole) // 3 * 3])


@pytest.mark.full
def test_contestants_count_tokens(spec):
    with Contestant("drapps", python("benchmarks.text.ours"), spec) as ours:
        assert ours.started["load_s"] > 0
        assert ours.ask(rows=16)["samples"] == 16 * 64
        assert 1000 <= ours.ask(warm=1, measure=1000)["samples"] < 1000 + 8 * 64
    with Contestant("stock", python("benchmarks.text.stock"), spec) as one:
        answer = one.ask(workers=1)
        assert answer["samples"] % 64 == 0
        assert 0 < answer["map_s"] < answer["seconds"]


def test_rows_of_tokens_are_those_of_get_batch(tmp_path):
    torch = pytest.importorskip("torch")
    from benchmarks.text import get_batch, token_data, token_rows

    ids = np.arange(5000, dtype=np.uint16)
    ids.tofile(tmp_path / "train.bin")
    spec = {"folder": str(tmp_path), "length": 64, "batch": 4}
    for number, batch in enumerate(token_rows.rows(spec).batch(4).torch()):
        begins = [(4 * number + row) * 64 for row in range(len(batch["labels"]))]
        x, y = get_batch.taken(ids, begins, 64)
        assert torch.equal(batch["input_ids"], x)
        assert torch.equal(batch["labels"], y)
    for contestant in (token_rows, get_batch):
        x, y = next(contestant.batches(spec))
        assert x.shape == y.shape == (4, 64)
        assert torch.equal(x[:, 1:], y[:, :-1])
        _, answer = token_data.answering(contestant.batches(spec))
        assert answer(warm=100, measure=1000)["samples"] >= 1000
