"""Rival: torch's own DataLoader with torchvision, v1 on PIL pictures or v2 on tensors.

Where the compiled part of torchvision can be loaded, v2 decodes to tensors by it; beside a torch
that has no CUDA it cannot, and Pillow decodes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.data
from torchvision import datasets, transforms

from benchmarks.image_peers.peer import Peer, run


def _v1(spec: dict[str, Any], transforms: Any) -> Any:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(spec["crop"], spec["scale"], spec["ratio"]),
            transforms.RandomHorizontalFlip(spec["flip"]),
            transforms.ToTensor(),
            transforms.Normalize(spec["mean"], spec["std"]),
        ]
    )


def _v2(spec: dict[str, Any], v2: Any) -> Any:
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(spec["crop"], spec["scale"], spec["ratio"], antialias=True),
            v2.RandomHorizontalFlip(spec["flip"]),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(spec["mean"], spec["std"]),
        ]
    )


def _decode(path: str) -> torch.Tensor:
    import torchvision.io

    return torchvision.io.decode_image(path, torchvision.io.ImageReadMode.RGB)


class TorchPeer(Peer):
    """See `Peer`; the variant is `transforms`: v1 or v2."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        more: dict[str, Any] = {}
        if spec["transforms"] == "v1":
            chain = _v1(spec, transforms)
        else:
            from torchvision import extension
            from torchvision.transforms import v2

            chain = _v2(spec, v2)
            if extension._has_ops():
                more = {"loader": _decode}
        torch.manual_seed(spec["seed"])
        self.group = spec["workers"]  # each worker gives a whole batch in its turn
        self._loader: Any = torch.utils.data.DataLoader(
            datasets.ImageFolder(spec["root"], chain, **more),
            batch_size=spec["batch"],
            shuffle=True,
            num_workers=spec["workers"],
            persistent_workers=True,
        )

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as the DataLoader gives them."""
        while True:
            yield from self._loader

    def close(self) -> None:
        """Ends the workers, which die with the last reference to the iterator."""
        self._loader._iterator = None


if __name__ == "__main__":
    # Torch advises against more workers than cores; the probe finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    run(TorchPeer)
