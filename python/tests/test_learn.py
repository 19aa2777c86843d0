"""Policies that go on learning while a loader runs: ``learn=True``."""

import json
import time

import numpy
import pytest

import drapps
import drapps.torch
from drapps import trace
from drapps.policy import PUBLISHED, learning, to_json
from python.tests.cells import some_full
from python.tests.corpus.corpora import EOS, tokenizer_file
from python.tests.test_workers import Drawn
from python.tests.tokens.token_files import write_plain

LEARNT = ("paper-a", "paper-c")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A folder of the user's in the place of the real one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "drapps" / "learned"


def rows(**options):
    array = numpy.arange(320, dtype=numpy.float32).reshape(80, 4)
    return drapps.arrays({"x": array}).shuffle(seed=3).batch(4, **options)


def content(batch):
    return numpy.from_dlpack(batch["x"]).tobytes()


def epochs(loader, seconds):
    """What as many epochs give as fit into the time."""
    given = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        given.append([])
        for batch in loader:
            given[-1].append(content(batch))
            time.sleep(0.01)
    return given


# Steps are learnt from by the other, below.
@pytest.mark.parametrize("policy", some_full(LEARNT, "paper-a"))
def test_what_it_yields_is_the_same_byte_for_byte(policy, cache):
    learner, plain = rows(policy=policy, learn=True), rows()
    given = epochs(learner, 2.0)
    assert given == [[content(batch) for batch in plain] for _ in given]
    facts = learner.stats().learning
    assert facts["trouble"] is None
    assert facts["folder"].startswith(str(cache))
    assert facts["weights"] == facts["given"]
    decisions = learner.explain()["decisions"]
    assert decisions["learning"]["given"] == facts["given"]
    assert decisions["totals"]["decisions"] > 0
    assert "learns: " in str(learner.explain())


def test_steps_are_learnt_from(tmp_path):
    """A training that takes its time, in one pass: pauses between passes count for nothing."""
    array = numpy.zeros((4000, 4), numpy.float32)
    loader = drapps.arrays({"x": array}).batch(4, policy="paper-c", learn=True)
    with loader.record(tmp_path / "run.trace"):
        for _ in loader:
            time.sleep(0.01)
            if loader.stats().learning["steps"] >= 3:
                break
    assert loader.stats().learning["steps"] >= 3
    done = trace.replay(tmp_path / "run.trace")
    assert done.first_difference == ""
    assert done.equal == done.decisions > 0


def test_it_is_off_where_nobody_asks(cache):
    loader = rows(policy="paper-a")
    list(loader)
    assert loader.stats().learning is None
    assert loader.explain()["decisions"]["learning"] is None
    assert not cache.exists()


def test_rows_of_tokens_and_of_texts_learn_too(tmp_path, cache):
    ids = write_plain(tmp_path / "a.bin", numpy.arange(3000))
    lines = tmp_path / "texts.txt"
    lines.write_text("".join(f"document {number}\n" for number in range(200)))
    texts = drapps.text(lines)
    tokenizer = drapps.tokenizer(tokenizer_file())
    builders = [
        lambda **options: drapps.tokens(ids, dtype="uint16").pack(100).batch(4, **options),
        lambda **options: texts.pack(tokenizer, 32, eos=EOS).batch(4, rows=16, **options),
        lambda **options: texts.tokenise(tokenizer, 8, eos=EOS).batch(4, rows=16, **options),
    ]
    folders = set()
    for build in builders:
        learner = build(policy="paper-a", learn=True)
        given, plain = [
            [numpy.asarray(batch["input_ids"]).tobytes() for batch in loader.numpy()]
            for loader in (learner, build())
        ]
        assert given == plain
        assert build().stats().learning is None
        folders.add(learner.stats().learning["folder"])
    assert len(folders) == len(builders)
    assert all(folder.startswith(str(cache)) for folder in folders)


def test_python_datasets_in_worker_processes_learn_too():
    options = {"batch_size": 8, "num_workers": 2, "seed": 1}
    learner = drapps.torch.DataLoader(Drawn(), policy="paper-a", learn=True, **options)
    plain = drapps.torch.DataLoader(Drawn(), **options)
    assert str(list(learner)) == str(list(plain))
    assert learner.stats().learning["folder"]
    assert plain.stats().learning is None
    learner.policy = "paper-a"
    assert learner.explain()["decisions"]["policy"] == "paper-a"


@pytest.mark.parametrize("policy", ["initial", "auto", "mpc", "cql"])
def test_what_does_not_learn_is_refused(policy):
    with pytest.raises(drapps.PipelineError, match="does not go on learning: learn=True is for"):
        rows(policy=policy, learn=True)
    with pytest.raises(drapps.PipelineError, match="does not go on learning"):
        drapps.torch.DataLoader(Drawn(), policy=policy, learn=True)


def test_the_argument_is_true_or_false():
    with pytest.raises(drapps.PipelineError, match="learn"):
        rows(policy="paper-a", learn="yes")


def test_what_is_learnt_of_pipelines_is_apart(cache):
    folders = {
        learning(policy, "threads", name)["keep_in"] for policy in PUBLISHED for name in "ab"
    }
    assert len(folders) == 2
    assert all(folder.startswith(str(cache)) for folder in folders)
    asked = learning({"name": "paper-c", "judge": True}, "threads", "a")
    assert json.loads(to_json(asked))["learn"] is True
