"""A small model, batches for it, and a loop over them."""

import torch

torch.set_num_threads(1)


def model_of(seed=3, dropout=0.0):
    """Two layers, the same for a seed."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.Tanh(),
        torch.nn.Dropout(dropout),
        torch.nn.Linear(16, 4),
    )


def batches(sizes, seed=5):
    """A batch of random samples for each size."""
    generator = torch.Generator().manual_seed(seed)
    for size in sizes:
        yield (
            torch.randn(size, 8, generator=generator),
            torch.randint(4, (size,), generator=generator),
        )


def loss_of(model, batch):
    """The mean over the samples."""
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def sgd(model, rate=0.1):
    """With momentum."""
    return torch.optim.SGD(model.parameters(), rate, momentum=0.9)


def weights(model):
    """All of them, in a row."""
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def run(step, model, given):
    """What backward() gave for each batch."""
    reports = []
    for batch in given:
        with step:
            loss = loss_of(model, batch)
        reports.append(step.backward(loss, samples=len(batch[0])))
    return reports
