"""Documents by themselves, padded by the batch: which tokens stand where."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import drapps
from drapps.errors import PipelineError
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS

LENGTH = 100


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def stock() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(corpora.tokenizer_file()))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return corpora.documents(3000)


@pytest.fixture(scope="module")
def encoded(texts, stock) -> list[list[int]]:
    """What the stock tokenizer makes of each text."""
    return [stock.encode(text, add_special_tokens=False).ids for text in texts]


@pytest.fixture(scope="module")
def lines(texts, tmp_path_factory):
    return corpora.write_lines(tmp_path_factory.mktemp("padded") / "texts.txt", texts)


def tokenised(lines: Any, tokenizer: Any, **options: Any) -> Any:
    return drapps.text(lines).tokenise(tokenizer, **{"max_length": LENGTH, "eos": EOS, **options})


def sequences(batch: Any, column: str = "input_ids") -> list[list[int]]:
    """The rows of a batch without their padding."""
    rows = zip(np.asarray(batch[column]), np.asarray(batch["attention_mask"]), strict=True)
    return [row[mask == 1].tolist() for row, mask in rows]


def all_of(loader: Any) -> list[list[int]]:
    return [row for batch in loader.numpy() for row in sequences(batch)]


def test_rows_are_documents_that_are_truncated_and_padded(encoded, lines, tokenizer, stock):
    eos = stock.token_to_id(EOS)
    loader = tokenised(lines, tokenizer, splits=1).batch(8, rows=2400)
    for at, batch in zip(range(0, 2400, 8), loader.numpy(), strict=True):
        rows = [[*ids[: LENGTH - 1], eos] for ids in encoded[at : at + 8]]
        width = max(map(len, rows))
        padded = np.array([row + [eos] * (width - len(row)) for row in rows])
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        assert np.array_equal(batch["input_ids"], padded)
        assert np.array_equal(batch["attention_mask"], mask)
        assert np.array_equal(batch["labels"], np.where(mask == 1, padded, -100))
        assert batch["lengths"].tolist() == [len(row) for row in rows]
        assert batch["input_ids"].flags.c_contiguous


def test_long_documents_are_split_as_the_stock_tokenizer_does(texts, lines, tokenizer, stock):
    stock.enable_truncation(LENGTH, stride=17)
    wanted = []
    for text in texts[:1500]:  # more than a block has
        encoding = stock.encode(text, add_special_tokens=False)
        wanted += [encoding.ids, *(each.ids for each in encoding.overflowing)]
    stock.no_truncation()
    pipeline = tokenised(lines, tokenizer, eos=None, long="split", overlap=17, splits=1)
    loader = pipeline.pad(EOS).batch(8, rows=len(wanted) - len(wanted) % 8)
    assert all_of(loader) == wanted[: len(wanted) - len(wanted) % 8]


def test_the_width_is_a_multiple_or_one_of_some_and_padding_may_stand_left(lines, tokenizer):
    plain = list(tokenised(lines, tokenizer).shuffle(1).batch(4, rows=400).numpy())
    pipeline = tokenised(lines, tokenizer).shuffle(1)
    multiple = list(pipeline.pad(multiple=16, side="left").batch(4, rows=400).numpy())
    listed = list(pipeline.pad(lengths=[32, 64, 128]).batch(4, rows=400).numpy())
    for one, other, third in zip(plain, multiple, listed, strict=True):
        assert sequences(one) == sequences(other) == sequences(third)
        assert sequences(one, "labels") == sequences(other, "labels")
        width = one["input_ids"].shape[1]
        assert other["input_ids"].shape[1] == -(-width // 16) * 16
        assert third["input_ids"].shape[1] == min(n for n in (32, 64, 128) if n >= width)
        assert (other["attention_mask"][:, -1] == 1).all()
        assert (third["attention_mask"][:, 0] == 1).all()
        assert (other["labels"][other["attention_mask"] == 0] == -100).all()


def test_shifted_labels_follow_within_a_document(lines, tokenizer):
    eos = tokenizer.encode_token(EOS)[0]
    for loader in (
        tokenised(lines, tokenizer, labels="shifted").batch(4, rows=80),
        tokenised(lines, tokenizer, labels="shifted").batch(token_budget=1000, batches=20),
    ):
        for batch in loader.numpy():
            for ids, labels in zip(sequences(batch), sequences(batch, "labels"), strict=True):
                assert ids[-1] == eos
                assert labels == [*ids[1:], -100]


def test_a_budget_bounds_what_a_batch_has_with_its_padding(encoded, lines, tokenizer, stock):
    pipeline = tokenised(lines, tokenizer, splits=1).shuffle(3).pad(multiple=8)
    loader = pipeline.batch(token_budget=2000)
    seen: Counter[tuple[int, ...]] = Counter()
    used = area = 0
    for batch in loader.numpy():
        rows, width = batch["input_ids"].shape
        assert rows * width <= 2000
        assert batch["attention_mask"].shape == batch["labels"].shape == (rows, width)
        assert batch["lengths"].tolist() == [len(row) for row in sequences(batch)]
        assert [batch[name].shape for name in ("index", "position", "flags")] == [(1,)] * 3
        seen.update(map(tuple, sequences(batch)))
        used, area = used + int(batch["lengths"].sum()), area + rows * width
        if 0 not in loader.latest_epochs():
            break
    eos = stock.token_to_id(EOS)
    wanted = Counter((*ids[: LENGTH - 1], eos) for ids in encoded)
    assert seen == wanted
    assert used > 0.9 * area


def loader_of(lines: Any, tokenizer: Any, how: str, **options: Any) -> Any:
    pipeline = tokenised(lines, tokenizer, long="split", overlap=5, splits=2).shuffle(4)
    pipeline = pipeline.shard(options.pop("rank", 0), options.pop("world", 1))
    if how == "budget":
        return pipeline.batch(token_budget=1500, batches=options.pop("count", 60), **options)
    return pipeline.batch(options.pop("size", 6), rows=options.pop("count", 360), **options)


@pytest.mark.parametrize("how", ["size", "budget"])
def test_the_number_of_workers_changes_nothing(lines, tokenizer, how):
    wanted = all_of(loader_of(lines, tokenizer, how))
    for workers in (1, 2, 7):
        settings = loader_of(lines, tokenizer, how).export_settings()
        settings["knobs"]["workers"] = workers
        loader = loader_of(lines, tokenizer, how, settings=settings, cpu_budget=workers)
        loader.freeze()
        assert all_of(loader) == wanted


@pytest.mark.parametrize("how", ["size", "budget"])
def test_it_resumes_at_every_step(lines, tokenizer, how):
    whole = [sequences(batch) for batch in loader_of(lines, tokenizer, how).numpy()]
    loader = loader_of(lines, tokenizer, how)
    for step, _ in enumerate(loader):
        state = json.loads(json.dumps(loader.state_dict()))
        if step == len(whole) - 1:
            break
        again = loader_of(lines, tokenizer, how)
        again.load_state_dict(state)
        assert sequences(next(again.numpy())) == whole[step + 1]


@pytest.mark.parametrize("how", ["size", "budget"])
def test_another_number_of_ranks_goes_on_with_what_is_left(lines, tokenizer, how):
    whole = all_of(loader_of(lines, tokenizer, how, count=60, **_size(how, 6)))
    before = [
        loader_of(lines, tokenizer, how, rank=rank, world=3, count=60, **_size(how, 2))
        for rank in range(3)
    ]
    seen: Counter[tuple[int, ...]] = Counter()
    for loader in before:
        for batch in itertools.islice(loader.numpy(), 4):
            seen.update(map(tuple, sequences(batch)))
    states = [loader.state_dict() for loader in before]
    for rank in range(2):
        loader = loader_of(lines, tokenizer, how, rank=rank, world=2, count=60, **_size(how, 3))
        loader.load_state_dict(states)
        seen.update(map(tuple, all_of(loader)))
    assert seen == Counter(map(tuple, whole))


def _size(how: str, size: int) -> dict[str, int]:
    return {"size": size} if how == "size" else {}


def test_an_epoch_has_every_document_once(encoded, lines, tokenizer, stock):
    eos = stock.token_to_id(EOS)
    loader = tokenised(lines, tokenizer, splits=2).shuffle(2).batch(8, rows="epoch")
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(2):
        seen.clear()
        for batch in loader.numpy():
            padding = batch["flags"] % 2 == 1
            assert np.array_equal(padding, batch["lengths"] == 0)
            seen.update(tuple(row) for row in sequences(batch) if row)
        assert seen == Counter((*ids[: LENGTH - 1], eos) for ids in encoded)


def test_a_mixture_is_exact_to_a_document(texts, tokenizer, tmp_path):
    ends = [corpora.write_lines(tmp_path / f"{name}.txt", texts) for name in "ab"]
    mixed = drapps.mixture([drapps.text(path) for path in ends], [0.7, 0.3])
    loader = mixed.tokenise(tokenizer, LENGTH, eos=EOS).shuffle(1).batch(10, rows=2000)
    sources = np.concatenate([batch["source"] for batch in loader.numpy()])
    had = np.cumsum(sources == 0)
    assert np.abs(had - 0.7 * np.arange(1, len(had) + 1)).max() < 1


@pytest.mark.parametrize("how", ["padded", "packed"])
def test_masks_have_their_shares_and_are_the_same_everywhere(lines, tokenizer, how):
    eos = tokenizer.encode_token(EOS)[0]

    def rows(masked: bool, **options: Any) -> Any:
        if how == "padded":
            pipeline = tokenised(lines, tokenizer).shuffle(1)
        else:
            pipeline = drapps.text(lines).pack(tokenizer, LENGTH, eos=EOS).shuffle(1)
        return (pipeline.mask(5, seed=3) if masked else pipeline).batch(4, rows=1600, **options)

    chosen = tokens = masked = same = 0
    first = []
    for plain, batch in zip(rows(False).numpy(), rows(True).numpy(), strict=True):
        ids, labels, was = batch["input_ids"], batch["labels"], plain["input_ids"]
        at = labels != -100
        assert np.array_equal(labels[at], was[at])
        assert np.array_equal(ids[~at], was[~at])
        assert not at[was == eos].any()
        tokens += int((was != eos).sum())
        chosen += int(at.sum())
        masked += int((ids[at] == 5).sum())
        same += int((ids[at] == was[at]).sum())
        first.append(ids)
    # Five standard deviations of a binomial count.
    for count, of, share in ((chosen, tokens, 0.15), (masked, chosen, 0.8), (same, chosen, 0.1)):
        assert abs(count - of * share) < 5 * (of * share * (1 - share)) ** 0.5 + 0.01 * of * share
    state = None
    loader = rows(True, cpu_budget=1)
    for _ in itertools.islice(loader, 9):
        state = loader.state_dict()
    again = rows(True)
    again.load_state_dict(state)
    for ids, batch in zip(first[9:], again.numpy(), strict=True):
        assert np.array_equal(batch["input_ids"], ids)


def test_words_are_masked_as_a_whole(lines, tokenizer):
    special = {5, *tokenizer.encode_token(EOS)}  # the mask is one, too
    packed = drapps.text(lines).pack(tokenizer, LENGTH, eos=EOS).shuffle(1)
    whole = packed.mask(5, 0.3, whole_words=True).batch(4, rows=400)
    words = 0
    for plain, batch in zip(packed.batch(4, rows=400).numpy(), whole.numpy(), strict=True):
        for was, labels in zip(plain["input_ids"], batch["labels"], strict=True):
            chosen = labels != -100
            texts = [tokenizer.decode([each], skip_special_tokens=False) for each in was.tolist()]
            for at in range(1, LENGTH):
                within = not (texts[at][:1].isspace() or texts[at - 1][-1:].isspace())
                if within and not special & {int(was[at]), int(was[at - 1])}:
                    assert chosen[at] == chosen[at - 1]
                    words += int(chosen[at])
    assert words > 100


@pytest.mark.parametrize("packing", ["concatenate", "best_fit"])
def test_ends_of_documents_in_a_row_are_listed_over_the_batch(lines, tokenizer, packing):
    pipeline = drapps.text(lines).pack(
        tokenizer, 256, eos=EOS, packing=packing, document_ids=True, cu_seqlens=True
    )
    for batch in pipeline.shuffle(1).batch(4, rows=80).numpy():
        flat = batch["document_ids"].ravel()
        begins = np.flatnonzero(np.diff(flat) != 0) + 1
        begins = np.union1d(begins, np.arange(0, 4 * 256, 256))
        wanted = np.append(begins, 4 * 256)
        assert batch["cu_seqlens"].dtype == np.int32
        assert np.array_equal(batch["cu_seqlens"], wanted)
        assert int(batch["max_seqlen"]) == np.diff(wanted).max()
        assert batch["max_seqlen"].shape == ()


def test_ranks_of_one_model_get_the_same_rows(lines, tokenizer):
    def rows(rank: int, world: int, together: int) -> list[list[int]]:
        pipeline = tokenised(lines, tokenizer).shuffle(1)
        return all_of(pipeline.shard(rank, world, model_parallel=together).batch(4, rows=160))

    for rank in range(4):
        assert rows(rank, 4, 2) == rows(rank // 2, 2, 1)
    with pytest.raises(PipelineError, match="must divide world=4"):
        rows(0, 4, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.batch(), "token_budget="),
        (lambda rows: rows.batch(4, token_budget=1000), "token_budget="),
        (lambda rows: rows.batch(4, batches=7), "rows="),
        (lambda rows: rows.batch(token_budget=LENGTH - 1), "longest row"),
        (lambda rows: rows.batch(token_budget=1000, batches=7).set_batch_size(2), "one row"),
        (lambda rows: rows.pad(lengths=[64]), "max_length=100"),
        (lambda rows: rows.pad(lengths=[64, 32, 128]), "ascend"),
        (lambda rows: rows.pad(multiple=0), "multiple"),
        (lambda rows: rows.pad(side="middle"), "side"),
        (lambda rows: rows.mask("two words"), "not one"),
        (lambda rows: rows.mask(5, replaced=0.9, random=0.2).batch(4), "at most 1 together"),
    ],
)
def test_what_makes_no_sense_is_refused(lines, tokenizer, change, message):
    with pytest.raises(PipelineError, match=message):
        change(tokenised(lines, tokenizer))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 1}, "leaves room for 0"),
        ({"overlap": 5}, "split long ones"),
        ({"overlap": 99, "long": "split"}, "more than overlap=99"),
        ({"long": "drop"}, "long"),
    ],
)
def test_rows_that_cannot_be_are_refused(lines, tokenizer, options, message):
    with pytest.raises(PipelineError, match=message):
        tokenised(lines, tokenizer, **options)


def test_padding_needs_a_token(lines, tokenizer):
    with pytest.raises(PipelineError, match="say what padding is"):
        tokenised(lines, tokenizer, eos=None).batch(4)
