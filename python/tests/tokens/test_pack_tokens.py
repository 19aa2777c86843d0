"""`drapps pack --tokens` writes what the tokenizer gives, once, whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from drapps.cli import main
from drapps.errors import PipelineError, SampleError
from drapps.token_shards import unfinished, writer
from drapps.token_shards.writer import write_tokens
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS
from python.tests.tokens.token_files import expected, megatron_index, rows_of


@pytest.fixture(scope="module")
def tokenizer():
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def texts():
    return corpora.documents(3000)


def ids_of(tokenizer, texts, bos=()):
    eos = tokenizer.encode_token(EOS)
    return [np.array([*bos, *tokenizer.encode(text, False), *eos]) for text in texts]


def check(out, documents, dtype="uint16"):
    """That both files are what Megatron's writer makes of the documents."""
    wanted = np.concatenate(documents).astype(dtype).tobytes()
    assert out.with_suffix(".bin").read_bytes() == wanted
    index = megatron_index([len(each) for each in documents], dtype)
    assert out.with_suffix(".idx").read_bytes() == index
    assert not out.with_suffix(".partial").exists()


def test_the_command_writes_what_the_tokenizer_gives(tokenizer, texts, tmp_path, capsys):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for number, file in enumerate(files):
        file.write_bytes(corpora.json_lines(texts[number::2]))
    words = ["--tokenizer", str(corpora.tokenizer_file()), "--eos", EOS, "--bos", "5"]
    out = tmp_path / "out" / "set"
    command = ["pack", *map(str, files), "--tokens", str(out), *words]
    assert main([*command, "--json"]) == 0
    documents = ids_of(tokenizer, texts[::2] + texts[1::2], bos=[5])
    check(out, documents)
    answer = json.loads(capsys.readouterr().out)
    assert answer["tokens"] == sum(map(len, documents))
    assert (answer["documents"], answer["resumed"]) == (len(texts), 0)
    rows = rows_of(drapps.tokens(out).pack(200, document_ids=True).batch(16))
    wanted = expected(documents, 200)
    assert np.array_equal(rows["input_ids"], wanted["input_ids"])
    assert np.array_equal(rows["document_ids"], wanted["document_ids"])
    assert main(command) == 1
    assert "set.bin' is there already: nothing is overwritten" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["txt", "gz", "parquet"])
def test_it_goes_on_wherever_it_was_interrupted(kind, tokenizer, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_KEPT_AFTER", 0.0)
    file = tmp_path / f"a.{kind}"
    lines = "".join(f"{text}\n" for text in texts).encode()
    if kind == "txt":
        file.write_bytes(lines)
    elif kind == "gz":
        monkeypatch.setattr(writer, "_LARGE_BLOCK", 0)  # piece by piece
        file = corpora.write_gzip(tmp_path / "a.txt.gz", lines)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"text": texts}), file, row_group_size=1500)
    documents = ids_of(tokenizer, texts)
    out, tokens = tmp_path / "out", []

    def interrupt(_: float, so_far: int) -> None:
        if len(tokens) % 2:  # what was not kept is made again
            tokens.append(so_far)
            raise KeyboardInterrupt
        tokens.append(so_far)

    runs = 0
    while True:
        runs += 1
        try:
            done = write_tokens(out, file, tokenizer, eos=EOS, progress=interrupt)
        except KeyboardInterrupt:
            continue
        break
    assert runs > 2
    assert done.resumed > 0
    check(out, documents)


def test_it_goes_on_after_a_kill(tokenizer, texts, tmp_path):
    file = corpora.write_lines(tmp_path / "a.txt", texts)
    out = tmp_path / "out"
    code = (
        "import sys, time\n"
        "from drapps.token_shards import writer\n"
        "writer._KEPT_AFTER = 0.0\n"
        "def slowly(share, tokens): time.sleep(0.2)\n"
        "writer.write_tokens(*sys.argv[1:4], eos=sys.argv[4], progress=slowly)"
    )
    words = [out, file, corpora.tokenizer_file(), EOS]
    run = subprocess.Popen([sys.executable, "-c", code, *map(os.fspath, words)])
    state = tmp_path / "out.partial" / "state.json"
    until = time.monotonic() + 60
    while not (state.exists() and json.loads(state.read_text())["place"]["ids"]):
        assert run.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    with pytest.raises(PipelineError, match="another process writes"):
        write_tokens(out, file, tokenizer, eos=EOS)
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = write_tokens(out, file, tokenizer, eos=EOS)
    assert 0 < done.resumed < done.tokens
    check(out, ids_of(tokenizer, texts))


def test_what_is_not_its_own_stays(tokenizer, texts, tmp_path, monkeypatch):
    file = corpora.write_lines(tmp_path / "a.txt", texts[:200])
    out = tmp_path / "out"

    def write(**options):
        return write_tokens(out, file, tokenizer, **{"eos": EOS, **options})

    def refusal(**options):
        with pytest.raises(PipelineError) as refused:
            write(**options)
        return str(refused.value)

    folder = tmp_path / "out.partial"
    folder.mkdir()
    (folder / "mine").write_text("kept")
    assert "is not what this command writes" in refusal()
    assert (folder / "mine").read_text() == "kept"
    (folder / "mine").unlink()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "_KEPT_AFTER", 0.0)
    with pytest.raises(KeyboardInterrupt):
        write(progress=interrupt)
    assert "is of a run with another eos" in refusal(eos=None)
    out.with_suffix(".bin").write_text("kept")
    assert "out.bin' is there and another one" in refusal()
    assert out.with_suffix(".bin").read_text() == "kept"
    out.with_suffix(".bin").unlink()
    os.truncate(folder / "ids", 10)
    assert "has lost some of its ids" in refusal()
    file.write_text("changed")
    assert "is of a run with another documents" in refusal()


def test_a_kill_between_the_names_is_made_good(tokenizer, texts, tmp_path, monkeypatch):
    file = corpora.write_lines(tmp_path / "a.txt", texts[:200])
    out = tmp_path / "out"
    for of, name in ((unfinished.Unfinished, "_name_ids"), (unfinished.shutil, "rmtree")):
        with monkeypatch.context() as patched:
            patched.setattr(of, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                write_tokens(out, file, tokenizer, eos=EOS)
        assert out.with_suffix(".partial").exists()
    write_tokens(out, file, tokenizer, eos=EOS)
    check(out, ids_of(tokenizer, texts[:200]))


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_bad_documents_are_named_or_left_out(tokenizer, tmp_path, capsys):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "one"}\n{"text": 7}\n{"text": "two"}\n')
    out = tmp_path / "out"
    words = ["--tokenizer", str(corpora.tokenizer_file()), "--eos", EOS]
    command = ["pack", "--tokens", str(out), str(file), *words]
    assert main(command) == 1
    output = capsys.readouterr().err
    assert f"{file} at byte 16" in output
    assert "--skip-bad" in output
    with pytest.raises(SampleError):
        write_tokens(out, file, tokenizer, eos=EOS)
    assert main([*command, "--skip-bad"]) == 0
    assert "bad documents left out: 1" in capsys.readouterr().out
    check(out, ids_of(tokenizer, ["one", "two"]))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["a", "--tokens", "out"], "--tokens needs --tokenizer"),
        (["a", "b", "--eos", "x"], "--eos needs --tokens OUT"),
        (["a"], "pictures need a SOURCE and an OUT"),
        (["a", "--tokens", "o", "--tokenizer", "t", "--shard-bytes", "1M"], "is for pictures"),
    ],
)
def test_words_that_do_not_go_together(words, why, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["pack", *words])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_words_of_ids_are_masked_as_a_whole(tokenizer, texts, tmp_path):
    corpora.write_lines(tmp_path / "a.txt", texts[:400])
    write_tokens(tmp_path / "out", tmp_path / "a.txt", tokenizer, eos=EOS)
    pipeline = drapps.tokens(tmp_path / "out").pack(200).shuffle(1)
    whole = pipeline.mask(5, 0.3, whole_words=True, tokenizer=tokenizer)
    special = {5, *tokenizer.encode_token(EOS)}  # the mask is one, too
    words = 0
    rows = zip(
        rows_of(pipeline.batch(8))["input_ids"], rows_of(whole.batch(8))["labels"], strict=True
    )
    for was, labels in rows:
        chosen = labels != -100
        assert not chosen[np.isin(was, list(special))].any()
        parts = [tokenizer.decode([each], skip_special_tokens=False) for each in was.tolist()]
        for at in range(1, 200):
            within = not (parts[at][:1].isspace() or parts[at - 1][-1:].isspace())
            if within and not special & {int(was[at]), int(was[at - 1])}:
                assert chosen[at] == chosen[at - 1]
                words += int(chosen[at])
    assert words > 100
    with pytest.raises(PipelineError, match="a tokenizer is made from"):
        pipeline.mask(5, tokenizer=object())
