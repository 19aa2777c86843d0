"""Points with a label each, for models that give the mean over their samples."""

import torch


class Points(torch.utils.data.Dataset):
    """Random ones, as pairs."""

    def __init__(self, size=36):
        generator = torch.Generator().manual_seed(1)
        self.points = torch.randn(size, 8, generator=generator)
        self.labels = torch.randint(4, (size,), generator=generator)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index], self.labels[index]
