"""Mixtures: each source has its share of the rows, and each document its turn."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from drapps.errors import PipelineError
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 64
SHARES = (0.7, 0.3)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("mixture")
    return [
        corpora.write_lines(folder / "web.txt", corpora.documents(1500, 1)),
        corpora.write_lines(folder / "code.txt", corpora.documents(300, 2)),
    ]


def mixed(files: Any, shares: Any = SHARES) -> Any:
    return drapps.mixture([drapps.text(file) for file in files], shares)


def packed(files: Any, tokenizer: Any, **options: Any) -> Any:
    return mixed(files).pack(tokenizer, LENGTH, eos=EOS, **options)


def splits_of(loader: Any) -> list[int]:
    return [stage["splits"] for stage in loader.explain().plan.stages if stage["op"] == "read"]


def test_before_any_row_each_source_has_had_its_share(files, tokenizer):
    loader = packed(files, tokenizer).shuffle(1).batch(8, rows=800)
    source = rows_of(loader, "source")
    assert source.dtype == np.int32
    first = np.cumsum(source == 0)
    assert np.all(np.abs(first - 0.7 * np.arange(1, 801)) < 1)
    assert first[-1] == 560


@pytest.mark.parametrize("packing", ["concatenate", "best_fit"])
def test_rows_of_a_source_are_those_that_it_has_alone(files, tokenizer, packing):
    loader = packed(files, tokenizer, packing=packing).batch(4, rows=400)
    splits = splits_of(loader)
    batches = list(loader.numpy())
    ids = np.concatenate([each["input_ids"] for each in batches])
    source = np.concatenate([each["source"] for each in batches])
    for number, file in enumerate(files):
        mine = ids[source == number]
        alone = drapps.text(file).pack(
            tokenizer, LENGTH, eos=EOS, packing=packing, splits=splits[number]
        )
        assert np.array_equal(mine, rows_of(alone.batch(1, rows=len(mine))))


def test_every_document_of_every_source_comes_in_an_epoch_of_it(files, tokenizer):
    pipeline = packed(files, tokenizer).shuffle(3)
    loader = pipeline.batch(1, rows=pipeline.epoch_rows())
    batches = list(loader.numpy())
    eos = tokenizer.encode_token(EOS)[0]
    for number, (file, splits) in enumerate(zip(files, splits_of(loader), strict=True)):
        rows = [each["input_ids"][0] for each in batches if each["source"][0] == number]
        texts: Counter[str] = Counter()
        for split in range(splits):
            stream = np.concatenate(rows[split::splits])
            parts = np.split(stream, np.flatnonzero(stream == eos) + 1)
            texts.update(tokenizer.decode(part[part != eos].tolist()) for part in parts)
        wanted = [texts[text] for text in file.read_text().splitlines()]
        assert min(wanted) >= 1
    # 300 documents have 3 of 10 rows, and 1,500 have 7.
    assert loader.latest_epochs() == [1, sum(wanted) // len(wanted)]
    assert sum(wanted) / len(wanted) > 1.5


def test_an_epoch_that_ends_with_a_row_is_over(tokenizer, tmp_path):
    alike = corpora.write_lines(tmp_path / "alike.txt", ["alike"] * LENGTH)
    pipeline = drapps.text(alike).pack(tokenizer, LENGTH, eos=EOS)
    rows = pipeline.epoch_rows()
    loader = pipeline.batch(1, rows=3 * rows)
    (whole,) = {bytes(batch["input_ids"]) for batch in itertools.islice(loader.numpy(), rows)}
    assert whole.endswith(np.int32(tokenizer.encode_token(EOS)[0]).tobytes())
    for epochs in (1, 2):
        loader = pipeline.batch(1, rows=epochs * rows)
        list(loader)
        assert loader.latest_epochs() == [epochs]


def test_workers_and_ranks_change_no_row(files, tokenizer):
    whole = rows_of(packed(files, tokenizer).shuffle(2).batch(12, rows=480))
    settings = packed(files, tokenizer).batch(4).export_settings()
    settings["knobs"]["workers"] = 7
    loader = packed(files, tokenizer).shuffle(2).batch(12, rows=480, settings=settings)
    loader.freeze()
    assert np.array_equal(rows_of(loader), whole)
    for world in (2, 3):
        for rank in range(world):
            pipeline = packed(files, tokenizer).shuffle(2).shard(rank, world)
            rows = rows_of(pipeline.batch(12 // world, rows=480))
            assert np.array_equal(rows, whole[rank::world])


def test_it_resumes_at_every_step_and_with_another_world(files, tokenizer):
    def loader(rank: int = 0, world: int = 1) -> Any:
        pipeline = packed(files, tokenizer).shuffle(2).shard(rank, world)
        return pipeline.batch(12 // world, rows=240)

    whole = rows_of(loader())
    assert loader().latest_epochs() == [None, None]
    states = []
    for rank in range(3):
        one = loader(rank, 3)
        states.append([one.state_dict() for _ in one])
    for step in range(len(states[0]) - 1):
        for world in (1, 2, 3):
            again = loader(0, world)
            again.load_state_dict([each[step] for each in states])
            expected = whole[12 * (step + 1) :: world][: 12 // world]
            assert np.array_equal(next(again.numpy())["input_ids"], expected)


def test_documents_are_held_out_of_the_mixture(files, tokenizer):
    training, held = mixed(files).hold_out(0.5)
    sides = [side.pack(tokenizer, LENGTH, eos=EOS) for side in (training, held)]
    assert not np.array_equal(*(rows_of(side.batch(1, rows=200)) for side in sides))
    with pytest.raises(PipelineError, match="of the mixture"):
        drapps.mixture([training, drapps.text(files[0])], SHARES)


def test_a_state_of_other_shares_is_refused(files, tokenizer):
    loader = packed(files, tokenizer).batch(2, rows=20)
    for _ in itertools.islice(loader, 2):
        pass
    other = mixed(files, (1, 1)).pack(tokenizer, LENGTH, eos=EOS).batch(2, rows=20)
    with pytest.raises(drapps.StateError):
        other.load_state_dict(loader.state_dict())


def test_shares_are_their_ratio(files):
    for shares in ((7, 3), (0.7, 0.3), (0.07, 0.03), np.asarray([1.4, 0.6])):
        assert mixed(files, shares).source.weights == (7, 3)
    for shares, message in (
        ((0.7,), "1 shares for 2 sources"),
        ((0.7, 0), "above 0"),
        ((0.7, float("nan")), "above 0"),
        ((0.1234567, 0.2), "round them"),
        (0.5, "a list"),
    ):
        with pytest.raises(PipelineError, match=message):
            mixed(files, shares)
    with pytest.raises(PipelineError, match="mixture itself"):
        drapps.mixture([mixed(files), drapps.text(files[0])], (1, 1))
    with pytest.raises(PipelineError, match="pack the mixture"):
        drapps.mixture([drapps.text(files[0]).pack], (1,))
    with pytest.raises(PipelineError, match="pack the mixture"):
        drapps.mixture(drapps.text(files[0]), (1,))


def test_ids_that_were_written_before_are_a_source_too(files, tokenizer, tmp_path):
    ids = np.arange(20 * LENGTH + 7, dtype=np.uint16) % 900
    ids.tofile(tmp_path / "ids.bin")
    tokens = drapps.tokens(tmp_path / "ids.bin", dtype="uint16", eos=13, vocabulary=1000)
    pipeline = drapps.mixture([drapps.text(files[0]), tokens], [0.5, 0.5]).pack(
        tokenizer, LENGTH, eos=EOS, document_ids=True
    )
    batches = list(pipeline.batch(4, rows=80).numpy())
    rows = np.concatenate([batch["input_ids"] for batch in batches])
    source = np.concatenate([batch["source"] for batch in batches])
    numbers = np.concatenate([batch["document_ids"] for batch in batches])
    whole = ids[: 20 * LENGTH].reshape(20, LENGTH)
    assert np.array_equal(rows[source == 1], np.concatenate([whole, whole]))
    starts = np.zeros((20, LENGTH), bool)
    starts[:, 1:] = whole[:, :-1] == 13
    assert np.array_equal(numbers[source == 1][:20], starts.cumsum(1))

    def shuffled(rank: int, world: int, rows: int = 320) -> Any:
        return pipeline.shuffle(5).shard(rank, world).batch(8 // world, rows=rows)

    loader = shuffled(0, 1)
    batches = list(loader.numpy())
    rows = np.concatenate([batch["input_ids"] for batch in batches])
    source = np.concatenate([batch["source"] for batch in batches])
    mine = rows[source == 1]
    for epoch in range(8):
        seen = mine[20 * epoch :][:20]
        assert np.array_equal(np.sort(seen[:, 0]), np.sort(whole[:, 0]))
    assert not np.array_equal(mine[:20], mine[20:40])
    assert loader.latest_epochs()[1] == 8  # which its next row would begin
    parts = [shuffled(rank, 2) for rank in range(2)]
    iterators = [part.numpy() for part in parts]
    together = []
    for _ in range(15):
        pair = [next(each)["input_ids"] for each in iterators]
        together.append(np.stack(pair, 1).reshape(8, LENGTH))
    assert np.array_equal(np.concatenate(together), rows[:120])
    loader.load_state_dict([part.state_dict() for part in parts])
    assert np.array_equal(rows_of(loader), rows[120:])
    first = next(iter([each for each in loader.documents(0, epoch=0) if "ids.bin" in each.path]))
    row = rows[first.row]
    assert np.array_equal(ids[first.at // 2 :][:LENGTH], row)


def test_bad_ids_are_named_and_their_row_is_left_out(files, tokenizer, tmp_path):
    ids = np.arange(20 * LENGTH, dtype=np.uint16) % 900
    ids[5 * LENGTH + 3] = 5000
    path = tmp_path / "ids.bin"
    ids.tofile(path)
    tokens = drapps.tokens(path, dtype="uint16", vocabulary=1000)
    pipeline = drapps.mixture([drapps.text(files[0]), tokens], [0.5, 0.5])
    rows = pipeline.pack(tokenizer, LENGTH, eos=EOS)
    loader = rows.on_error("skip").batch(4, rows=40)
    assert len(rows_of(loader)) == 39
    [bad] = loader.bad_samples()
    assert (bad.path, bad.offset) == (str(path), 2 * (5 * LENGTH + 3))
    with pytest.raises(drapps.errors.SampleError, match="vocabulary"):
        rows_of(rows.batch(4, rows=40))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda mix, coder: mix.pack(coder, LENGTH, eos=EOS, document_ids=True), "name eos="),
        (lambda mix, coder: mix.pack(coder, LENGTH, eos=EOS, packing="best_fit"), "concatenated"),
        (lambda mix, coder: mix.tokenise(coder, LENGTH, eos=EOS), "concatenated"),
        (lambda mix, coder: mix.hold_out(0.1)[0].pack(coder, LENGTH, eos=EOS), "held out"),
        (lambda mix, coder: mix.pack(coder, 5000, eos=EOS), "less than one row"),
    ],
)
def test_what_rows_of_ids_cannot_be_is_refused(files, tokenizer, tmp_path, change, message):
    np.arange(900, dtype=np.uint16).tofile(tmp_path / "ids.bin")
    tokens = drapps.tokens(tmp_path / "ids.bin", dtype="uint16")
    with pytest.raises(PipelineError, match=message):
        change(drapps.mixture([drapps.text(files[0]), tokens], [0.5, 0.5]), tokenizer).batch(4)


def test_storages_are_of_the_mixture(tmp_path):
    text = drapps.text(corpora.write_lines(tmp_path / "texts.txt", corpora.documents(50)))
    slow = drapps.emulate(latency=0.001)
    with pytest.raises(PipelineError, match="put the mixture on it"):
        drapps.mixture([text, text.on(slow)], [1, 1])
    mixed = drapps.mixture([text, text], [1, 1]).on(slow)
    coder = drapps.tokenizer(corpora.tokenizer_file())
    assert corpora.rows_of(mixed.pack(coder, 64, eos=corpora.EOS).batch(4, rows=16)).shape[0] == 16
    assert slow.stats()["reads"] > 0
