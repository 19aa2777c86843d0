"""`drapps pack --reframe` writes the same lines as zstd frames that are read apart."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import drapps
from drapps.cli import main
from drapps.errors import PipelineError
from drapps.token_shards.reframe import reframe
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of


@pytest.fixture(scope="module")
def content():
    """Some MiB of JSON lines, one of which is longer than a frame."""
    texts = corpora.documents(6000)
    texts[40] = texts[40] * 3000
    return corpora.json_lines(texts)


def frames_of(path):
    """The content of each frame."""
    import zstandard

    frames, rest = [], path.read_bytes()
    while rest:
        reader = zstandard.ZstdDecompressor().decompressobj()
        frames.append(reader.decompress(rest))
        rest = reader.unused_data
    return [frame for frame in frames if frame]


@pytest.mark.parametrize("kind", ["plain", "zst", "gz"])
def test_the_lines_are_the_same_in_frames_of_whole_lines(kind, content, tmp_path):
    pytest.importorskip("zstandard")
    if kind == "plain":
        path = tmp_path / "a.jsonl"
        path.write_bytes(content[:-1])  # without a line feed at the end
    elif kind == "zst":
        path = corpora.write_zstd(tmp_path / "a.jsonl.zst", content[:-1], 3 << 20)
    else:
        path = corpora.write_gzip(tmp_path / "a.jsonl.gz", content[:-1])
    [written] = reframe(tmp_path / "out", path, jobs=2).paths
    assert written == tmp_path / "out" / "a.jsonl.zst"
    frames = frames_of(written)
    assert b"".join(frames) == content[:-1]
    assert len(frames) > 3
    for frame in frames[:-1]:
        assert frame.endswith(b"\n")
        assert len(frame) >= 1 << 20
        assert len(frame[: frame.rindex(b"\n", 0, -1) + 1]) < 1 << 20


def test_packed_text_of_it_is_in_many_blocks(content, tmp_path):
    path = corpora.write_gzip(tmp_path / "a.jsonl.gz", content)
    [written] = reframe(tmp_path / "out", path).paths
    tokenizer = drapps.tokenizer(corpora.tokenizer_file())

    def rows(name):
        pipeline = drapps.text(name).pack(tokenizer, 100, eos=EOS, splits=1)
        return rows_of(pipeline.batch(4, rows=400))

    assert np.array_equal(rows(path), rows(written))
    splits = drapps.text(written).pack(tokenizer, 100, eos=EOS, splits=4)
    assert len(rows_of(splits.batch(4, rows=40))) == 40


def test_the_command_goes_on_and_overwrites_nothing(content, tmp_path, capsys):
    files = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for file in files:
        file.write_bytes(content[:3000])
    (tmp_path / "c.jsonl").write_bytes(b"")
    out = tmp_path / "out"
    assert main(["pack", "--reframe", str(out), *map(str, files[:2])]) == 0
    assert capsys.readouterr().out.startswith("2 files, ")
    kept = (out / "a.jsonl.zst").stat()
    assert main(["pack", "--reframe", str(out), *map(str, files), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["there"], len(answer["files"])) == (2, 3)
    there = (out / "a.jsonl.zst").stat()
    assert (there.st_ino, there.st_mtime_ns) == (kept.st_ino, kept.st_mtime_ns)
    files[1].write_bytes(content[:4000])
    before = (out / "b.jsonl.zst").read_bytes()
    assert main(["pack", "--reframe", str(out), *map(str, files)]) == 1
    assert "b.jsonl.zst' is there already: nothing is overwritten" in capsys.readouterr().err
    assert (out / "b.jsonl.zst").read_bytes() == before
    assert {path.name for path in out.iterdir()} == {f"{name}.jsonl.zst" for name in "abc"}


def test_what_cannot_be_framed_is_refused_and_leaves_nothing(content, tmp_path):
    damaged = corpora.write_zstd(tmp_path / "a.jsonl.zst", content)
    damaged.write_bytes(damaged.read_bytes()[:-2000])
    with pytest.raises(PipelineError, match=str(damaged)):
        reframe(tmp_path / "out", damaged)
    twice = [tmp_path / "b.jsonl", corpora.write_gzip(tmp_path / "b.jsonl.gz", content[:900])]
    twice[0].write_bytes(content[:900])
    with pytest.raises(PipelineError, match=r"several files would become"):
        reframe(tmp_path / "out", twice)
    (tmp_path / "c.parquet").touch()
    with pytest.raises(PipelineError, match="no lines"):
        reframe(tmp_path / "out", tmp_path / "c.parquet")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
