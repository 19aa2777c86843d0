"""default_collate in worker processes: pictures whose pixels lie together, and all else."""

from __future__ import annotations

import random

import pytest
import torch
from torch.utils.data import _utils, default_collate

from drapps import _core
from drapps.accelerate import stacking
from drapps.accelerate.patches import Patches

SEEDS = 120


@pytest.fixture
def parted(monkeypatch):
    """As in a worker; keeps how many batches were made natively."""
    monkeypatch.setattr(_utils.worker, "_worker_info", object())
    counts, plain = [], _core.separate_floats
    monkeypatch.setattr(
        _core, "separate_floats", lambda *args: (counts.append(len(args[1])), plain(*args))
    )
    patches = Patches()
    stacking.patch(patches)
    yield counts
    patches.undo()
    assert _utils.collate.default_collate_fn_map[torch.Tensor] is _utils.collate.collate_tensor_fn


def picture(rng, v2, size):
    """One that lies with its pixels together, most of the time."""
    height, width = size
    values = torch.rand(
        height, width, 3, generator=torch.Generator().manual_seed(rng.randint(0, 9))
    )
    kind = rng.choice([0] * 12 + [1, 2, 3, 4, 5, 6])
    tensor = values.permute(2, 0, 1)
    if kind == 1:
        tensor = tensor.contiguous()
    elif kind == 2:
        tensor = tensor.double()
    elif kind == 3:
        tensor = tensor[:, :, : max(width - 1, 1)]
    elif kind == 4:
        tensor = values.view(height, width, 3).transpose(0, 1).permute(2, 0, 1)
    elif kind == 5:
        tensor = tensor.clone().requires_grad_()
    elif kind == 6:
        tensor = tensor[:2]
    if rng.random() < 0.1:
        tensor = v2.functional.to_image(tensor)
    return tensor


def batch_of(seed, v2):
    rng = random.Random(seed)
    size = (rng.choice([1, 2, 5, 9]), rng.choice([1, 2, 7, 8]))
    lot = [picture(rng, v2, size) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        lot = [lot[0], *(each if each.shape == lot[0].shape else lot[0] for each in lot[1:])]
    if rng.random() < 0.3:
        lot = [v2.functional.to_image(each) for each in lot]
    return rng.choice([lot, lot, [(each, 3) for each in lot], [{"a": each} for each in lot]])


def seen(act):
    try:
        batch = act()
    except Exception as error:
        return type(error), str(error)
    while not isinstance(batch, torch.Tensor):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    plain = batch.detach().as_subclass(torch.Tensor)
    return (
        *(type(batch), batch.dtype, batch.shape, batch.stride(), batch.is_shared()),
        *(batch.requires_grad, batch._base is None, plain.numpy().tobytes()),
    )


def test_batches_are_the_same(parted, v2, monkeypatch):
    batches = [seen(lambda seed=seed: default_collate(batch_of(seed, v2))) for seed in range(SEEDS)]
    plain = _utils.collate.collate_tensor_fn
    monkeypatch.setitem(_utils.collate.default_collate_fn_map, torch.Tensor, plain)
    for seed, ours in enumerate(batches):
        assert ours == seen(lambda seed=seed: default_collate(batch_of(seed, v2))), f"seed {seed}"
    monkeypatch.undo()
    assert len(parted) > SEEDS / 6


@pytest.mark.parametrize(
    "wrap", [lambda each: each, lambda each: (each, 3), lambda each: {"a": each}]
)
def test_labels_beside_pictures_change_nothing(parted, v2, wrap):
    lot = [v2.functional.to_image(torch.rand(5, 7, 3).permute(2, 0, 1)) for _ in range(4)]
    default_collate([wrap(each) for each in lot])
    assert parted == [4]


def test_a_function_of_the_users_stays_his(monkeypatch):
    def mine(batch, *, collate_fn_map=None):  # noqa: ARG001
        return "mine"

    functions = _utils.collate.default_collate_fn_map
    monkeypatch.setitem(functions, torch.Tensor, mine)
    stacking.patch(Patches())
    assert functions[torch.Tensor] is mine
