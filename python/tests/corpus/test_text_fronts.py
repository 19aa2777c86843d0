"""Packed text in the other frameworks, whose batches are those of the loader itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

from python.tests.corpus import corpora
from python.tests.corpus.corpora import rows_of


@pytest.fixture(scope="module")
def make(tmp_path_factory) -> Any:
    return corpora.small_loader(tmp_path_factory.mktemp("fronts"))


def test_torch_has_the_same_batches(make):
    torch = pytest.importorskip("torch")
    batches = list(make().torch())
    assert batches[0]["labels"].dtype == torch.int64
    ids = torch.cat([batch["input_ids"] for batch in batches]).numpy()
    assert np.array_equal(ids, rows_of(make()))


def test_a_child_process_reads_its_own(make):
    import multiprocessing

    loader = make()
    next(iter(loader))
    loader.set_epoch(0)
    wanted = rows_of(make())
    queue = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(target=lambda: queue.put(rows_of(loader)))
    process.start()
    assert np.array_equal(queue.get(timeout=100), wanted)
    process.join(100)


def test_who_watches_the_process_sees_it(make):
    from drapps.monitor.observing import observers

    loader = make()
    before = {each.number for each in observers()}
    iterator = iter(loader)
    next(iterator)
    [seen] = [each for each in observers() if each.number not in before]
    assert seen.dataset == "TextFiles"
    assert "tokenise" in seen.look().stats


@pytest.fixture(scope="module")
def padded(tmp_path_factory) -> Any:
    return corpora.small_padded_loader(tmp_path_factory.mktemp("padded"))


def test_jax_has_the_same_batches(make, padded):
    pytest.importorskip("jax")
    from drapps.jax import Loader

    for build in (make, padded):
        for batch, wanted in zip(Loader(build()), build().numpy(), strict=True):
            assert batch.keys() == wanted.keys()
            assert all(np.array_equal(batch[name], wanted[name]) for name in wanted)


@pytest.mark.full  # test_tensorflow.py has its main path, and importing it is long
def test_tf_data_has_the_same_batches(make, padded):
    pytest.importorskip("tensorflow")
    import drapps.tensorflow

    for build in (make, padded):
        dataset = drapps.tensorflow.dataset(build())
        for batch, wanted in zip(dataset, build().numpy(), strict=True):
            assert batch.keys() == wanted.keys()
            assert all(np.array_equal(batch[name], wanted[name]) for name in wanted)
    assert dataset.element_spec["input_ids"].shape.as_list() == [None, None]
