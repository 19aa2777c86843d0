"""Rows of tokens are the same for any machine, and go on where they were left."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import drapps
from drapps.errors import StateError
from python.tests.tokens.token_files import documents, rows_of, write_megatron

IDS = "input_ids"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_megatron(tmp_path_factory.mktemp("tokens") / "a", documents(1100))


def loader_of(path, rank=0, world=1, size=4, **options):
    pipeline = drapps.tokens(path).pack(100, labels="shifted").shuffle(4)
    return pipeline.shard(rank, world).batch(size, **options)


def saved(loader):
    return json.loads(json.dumps(loader.state_dict()))


def test_the_number_of_workers_shows_in_nothing(path):
    whole = rows_of(loader_of(path))
    for workers in (1, 2, 7):
        settings = loader_of(path).export_settings()
        settings["knobs"]["workers"] = workers
        again = rows_of(loader_of(path, cpu_budget=workers, settings=settings))
        assert all(np.array_equal(again[name], whole[name]) for name in whole)


def test_it_resumes_at_every_step(path):
    whole = rows_of(loader_of(path))[IDS]
    loader = loader_of(path)
    for step, _ in enumerate(loader):
        again = loader_of(path)
        again.load_state_dict(saved(loader))
        if step < len(loader) - 1:
            assert np.array_equal(next(again.numpy())[IDS], whole[4 * step + 4 :][:4])
    assert (saved(loader)["epoch"], saved(loader)["position"]) == (1, 0)


def test_it_resumes_in_a_new_process(path):
    loader = loader_of(path)
    stream = loader.numpy()
    for _ in range(9):
        next(stream)
    code = (
        "import json, sys; from python.tests.tokens.test_token_state import loader_of\n"
        "loader = loader_of(sys.argv[1]); loader.load_state_dict(json.loads(sys.argv[2]))\n"
        "print(json.dumps([batch['input_ids'].tolist() for batch in loader.numpy()]))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, os.fspath(path), json.dumps(saved(loader))],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert json.loads(printed) == [batch[IDS].tolist() for batch in stream]


def test_another_world_goes_on_with_exactly_what_is_left(path):
    whole = rows_of(loader_of(path))["index"]
    before, state = [], None
    for rank in range(3):
        loader = loader_of(path, rank, 3)
        stream = loader.numpy()
        before += [index for _ in range(5) for index in next(stream)["index"]]
        assert state in (None, saved(loader))
        state = saved(loader)
    after = []
    for rank in range(2):
        loader = loader_of(path, rank, 2, size=5)
        loader.load_state_dict(state)
        after += rows_of(loader)["index"].tolist()
    assert sorted(before) == sorted(whole[:60].tolist())
    assert sorted(after) == sorted(whole[60:].tolist())


def test_states_of_other_rows_are_refused(path, tmp_path):
    state = saved(loader_of(path))
    others = [
        drapps.tokens(path).pack(100).shuffle(4).batch(4),
        drapps.tokens(path).pack(100, labels="shifted").batch(4),
        loader_of(write_megatron(tmp_path / "a", documents(1099))),
    ]
    for other in others:
        with pytest.raises(StateError):
            other.load_state_dict(state)
