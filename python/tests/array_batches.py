"""Numbers in memory, and batches of them beside those of the stock loader."""

import numpy as np
import torch
from torch.utils import data

import drapps.torch


def values(shape, dtype, seed=0):
    """Numbers of every dtype that are not all the same; some of the floats are no numbers."""
    drawn = np.random.default_rng(seed).integers(0, 250, shape)
    tensor = torch.from_numpy(drawn).to(torch.uint8 if dtype == torch.bool else dtype)
    if dtype == torch.bool:
        return tensor % 3 == 0
    if dtype.is_floating_point and tensor.numel():
        tensor.view(-1)[0] = float("nan")
    return tensor


def bits(batch):
    """A batch as types, shapes, strides and bytes."""
    return [
        (t.dtype, t.shape, t.stride(), t.contiguous().view(-1).view(torch.uint8).tolist())
        for t in batch
    ]


def loader(dataset, *args, lifted=True, **kw):
    """A loader that is lifted, or is not."""
    instance = drapps.torch.DataLoader(dataset, *args, **kw)
    assert bool(instance.lifted()) is lifted, str(instance.lifted())
    return instance


def assert_equal_to_stock(dataset, *args, **kw):
    """Batches are the stock loader's, bit by bit."""
    mine = list(loader(dataset, *args, **kw))
    stock = list(data.DataLoader(dataset, *args, **kw))
    assert len(mine) == len(stock)
    for one, other in zip(mine, stock, strict=True):
        assert type(one) is type(other)
        assert bits(one) == bits(other)
        assert all(type(part) is torch.Tensor for part in one)
