"""A training on torch's own DataLoader: `drapps watch -- python examples/plain_torch.py`.

It makes its own data, in which transforming a sample takes longer than a step. Needs torch.
"""

import torch
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset[tuple[torch.Tensor, int]]):
    """Sums of waves, to be told apart by how many there are."""

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return transform(index), index % 4


def transform(index: int) -> torch.Tensor:
    """A picture, wave by wave, in plain Python."""
    draw = torch.Generator().manual_seed(index)
    picture = torch.zeros(32, 32)
    across = torch.linspace(0, 6.28, 32)
    for _ in range(20 * (1 + index % 4)):
        picture += torch.sin(across * torch.rand(1, generator=draw))[:, None]
    return picture


def main() -> None:
    """Trains a linear classifier for one epoch."""
    loader = DataLoader(Waves(), batch_size=16, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(32 * 32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for pictures, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"trained on {len(loader.dataset)} pictures")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
