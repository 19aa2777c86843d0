"""Old names of public things do what the new ones do, and say so."""

import io
import json
import warnings

import pytest
from PIL import Image

import drapps


@pytest.fixture
def pipeline():
    """Three samples, the second of which is no picture."""
    held = io.BytesIO()
    Image.new("RGB", (8, 8)).save(held, "png")
    records = [held.getvalue(), b"no picture", held.getvalue()]
    return drapps.image_bytes(records).center_crop(8).on_error("skip")


def warned(old, new):
    return pytest.warns(DeprecationWarning, match=rf"{old}.* removed in drapps 0\.2: use .*{new}")


def test_ledger_of_a_loader_and_of_its_iterator(pipeline):
    loader = pipeline.batch(3)
    iterator = iter(loader)
    next(iterator)
    for each in (loader, iterator):
        with warned("ledger", "bad_samples") as caught:
            entries = each.ledger()
        assert caught[0].filename == __file__
        assert entries == each.bad_samples()
        assert [bad["index"] for bad in entries] == [1]


def test_ledger_file_of_batch(pipeline, tmp_path):
    path = tmp_path / "bad.jsonl"
    with warned("ledger_file=", "bad_samples_file=") as caught:
        loader = pipeline.batch(3, ledger_file=path)
    assert caught[0].filename == __file__
    list(loader)
    assert [json.loads(line)["index"] for line in path.read_text().splitlines()] == [1]
    with pytest.raises(TypeError, match="bad_samples_file="):
        pipeline.batch(3, ledger_file=path, bad_samples_file=path)


def test_ledger_of_a_torch_loader(tmp_path):
    drapps_torch = pytest.importorskip("drapps.torch")
    path = tmp_path / "bad.jsonl"
    with warned("ledger_file=", "bad_samples_file=") as caught:
        loader = drapps_torch.DataLoader([1, 2], ledger_file=path)
    assert caught[0].filename == __file__
    assert (loader.bad_samples_file, loader.ledger_file) == (path, None)
    with warned("ledger", "bad_samples"):
        assert loader.ledger() == []


def test_a_loader_made_again_of_its_attributes_does_not_warn(tmp_path):
    drapps_torch = pytest.importorskip("drapps.torch")
    with warned("ledger_file=", "bad_samples_file="):
        loader = drapps_torch.DataLoader([1, 2], ledger_file=tmp_path / "bad.jsonl")
    names = ("dataset", "bad_samples_file", "ledger_file")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = drapps_torch.DataLoader(**{name: getattr(loader, name) for name in names})
    assert again.bad_samples_file == tmp_path / "bad.jsonl"


def test_the_sampler_and_its_states():
    with warned("drapps.BudgetSampler", "drapps.BucketBatchSampler") as caught:
        kind = drapps.BudgetSampler
    assert caught[0].filename == __file__
    assert kind is drapps.BucketBatchSampler
    sampler = kind([3, 5, 8], max_tokens=16)
    state = sampler.state_dict()
    assert state["kind"] == "budget_sampler"
    sampler.load_state_dict(state)


def test_keys_of_reports(pipeline):
    loader = pipeline.batch(3)
    plan, account = loader.explain().plan, loader.memory().accounts["batches"]
    with warned("'engine'", "'path'") as caught:
        assert plan["engine"] == "native"
    assert caught[0].filename == __file__
    with warned("'engine'", "'path'"):
        assert plan.get("engine") == "native"
    with warned("'yields'", "'releases'"):
        assert account["yields"] == account.releases
