"""The training step, with all of its parts: `python examples/train_everything.py DIR`.

DIR holds one folder of pictures per class. A plan chooses the micro-batch, which is the loader's
batch, and the precision; how many of them make a step follows the noise of the gradient.
"""

import sys

import torch

import drapps
from drapps import train


def loss_of(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The mean over the pictures of a batch."""
    return torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])


def main(root: str) -> None:
    """Trains a small model for three epochs and prints what its steps were made of."""
    torch.manual_seed(1)
    pipeline = drapps.image_folder(root).random_resized_crop(32).flip().shuffle(seed=1)
    loader = pipeline.normalize([0.5] * 3, [0.25] * 3).batch(4)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(10))
    model(torch.zeros(1, 3, 32, 32))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    plan = train.plan(model, loader, optimizer, loss=loss_of, memory="1GiB", seconds=10)
    print(plan)
    step = plan.step(
        batch=train.BatchSchedule(most=8, warmup=4, every=4),
        learning_rate=train.WarmupCosine(optimizer, warmup=16, total=3 * 40),
        scaling="sqrt",
        clip=1.0,
    )
    for _ in range(3):
        for batch in loader.torch():
            with step:
                loss = loss_of(model, batch)
            step.backward(loss, samples=len(batch["label"]))
        step.finish()
    print(step.report())
    print(f"trained on {step.samples:.0f} pictures")


if __name__ == "__main__":
    main(sys.argv[1])
