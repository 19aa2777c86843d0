"""The loader classes that the contract is asked of."""

from torch.utils import data

import drapps.torch


class TorchOrder(drapps.torch.DataLoader):
    """Ours, drawing the numbers of stock."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **{"torch_order": True, **keywords})


class Unlifted(drapps.torch.DataLoader):
    """Ours, running everything as Python code."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **{"lift": False, **keywords})


MODES = {
    "stock": data.DataLoader,
    "default": drapps.torch.DataLoader,
    "torch_order": TorchOrder,
    "unlifted": Unlifted,
}
