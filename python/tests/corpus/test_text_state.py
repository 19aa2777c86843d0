"""Packed text goes on where it was left: at any step, elsewhere, with other ranks."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from drapps.corpus.loader import _CURSOR
from drapps.errors import StateError
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

ROWS = 240


@pytest.fixture(scope="module")
def make(tmp_path_factory) -> Any:
    tokenizer = drapps.tokenizer(corpora.tokenizer_file())
    path = corpora.write_lines(
        tmp_path_factory.mktemp("state") / "texts.txt", corpora.documents(4000)
    )

    def build(rank: int = 0, world: int = 1, size: int = 4, rows: int | None = ROWS) -> Any:
        pipeline = drapps.text(path).pack(tokenizer, 200, eos=EOS, splits=2).shuffle(4)
        return pipeline.shard(rank, world).batch(size, rows=rows)

    return build


def saved(loader: Any) -> Any:
    return json.loads(json.dumps(loader.state_dict()))


def test_it_resumes_at_every_step(make):
    whole = rows_of(make())
    loader = make()
    for step, _ in enumerate(loader):
        state = saved(loader)
        if step == ROWS // 4 - 1:
            break
        again = make()
        again.load_state_dict(state)
        assert np.array_equal(next(again.numpy())["input_ids"], whole[4 * step + 4 :][:4])
    assert (state["epoch"], state["position"]) == (1, 0)


def test_cursors_stand_at_the_rows_that_come_next(make):
    loader = make(rows=None)
    for _ in itertools.islice(loader, 200):
        pass
    state = saved(loader)
    rows = np.frombuffer(base64.b64decode(state["cursors"]), _CURSOR)["row"]
    assert rows.tolist() == [200 * 4 // 2] * 2
    from_start = {name: state[name] for name in state if name != "cursors"}
    with_cursors, without = make(rows=None), make(rows=None)
    with_cursors.load_state_dict(state)
    without.load_state_dict(from_start)
    assert np.array_equal(
        next(with_cursors.numpy())["input_ids"], next(without.numpy())["input_ids"]
    )


@pytest.mark.parametrize("step", [1, 40])
def test_a_state_is_small(make, step):
    loader = make(rows=None)
    for _ in itertools.islice(loader, step):
        pass
    state = saved(loader)
    assert len(base64.b64decode(state.pop("cursors"))) == 2 * 32  # of two splits
    assert len(json.dumps(state)) <= 4096


def test_a_change_of_the_world_takes_the_states_of_all_ranks(make):
    whole = rows_of(make(size=12))
    before = [make(rank, 3, 4) for rank in range(3)]
    for loader in before:
        for _ in itertools.islice(loader, 7):
            pass
    states = [saved(loader) for loader in before]
    for world, size in ((2, 6), (1, 12), (3, 4)):
        parts = []
        for rank in range(world):
            loader = make(rank, world, size)
            loader.load_state_dict(states)
            parts.append(rows_of(loader))
        together = np.stack(parts, 1).reshape(-1, 200)
        assert np.array_equal(together, whole[7 * 12 :]), world


def test_a_loaded_state_is_given_again_before_the_next_batch(make):
    loader = make()
    for _ in itertools.islice(loader, 7):
        pass
    state = saved(loader)
    again = make()
    again.load_state_dict(state)
    assert saved(again) == state
    iterator = iter(again)
    assert iterator.state_dict() == state


def test_a_pass_may_be_made_longer(make):
    loader = make(rows=80)
    for _ in itertools.islice(loader, 10):
        pass
    longer = make(rows=160)
    longer.load_state_dict(saved(loader))
    assert np.array_equal(rows_of(longer), rows_of(make(rows=160))[40:])


def test_states_of_other_text_or_places_are_refused(make, tmp_path):
    loader = make()
    next(iter(loader))
    state = saved(loader)
    tokenizer = drapps.tokenizer(corpora.tokenizer_file())
    path = corpora.write_lines(tmp_path / "other.txt", corpora.documents(500, seed=2))
    other = drapps.text(path).pack(tokenizer, 200, eos=EOS).shuffle(4).batch(4, rows=80)
    with pytest.raises(StateError, match=r"dataset|size"):
        other.load_state_dict(state)
    longer = drapps.text(path).pack(tokenizer, 100, eos=EOS).shuffle(4).batch(4, rows=80)
    with pytest.raises(StateError):
        longer.load_state_dict(state)
    elsewhere = {**state, "position": state["position"] + 4}
    with pytest.raises(StateError, match="different places"):
        make().load_state_dict([state, elsewhere])
    at = len(state["cursors"]) // 2
    edited = state["cursors"][:at] + "/" + state["cursors"][at + 1 :]
    for broken in ("?", "AAAA", edited):
        with pytest.raises(StateError, match="cursors"):
            make().load_state_dict({**state, "cursors": broken})
