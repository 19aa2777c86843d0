"""Stop in the middle of an epoch and go on elsewhere: `python examples/resume.py DIR`.

DIR holds one folder of pictures per class.
"""

import json
import sys

import numpy as np

import drapps


def make(root: str) -> drapps.Loader:
    """The same description each time: a state belongs to it."""
    pipeline = drapps.image_folder(root).random_resized_crop(32).flip()
    return pipeline.shuffle(seed=7).seed(7).batch(4)


def main(root: str) -> None:
    """Compares an epoch that was interrupted with one that was not."""
    whole = [batch["image"] for batch in make(root).numpy()]

    loader = make(root)
    iterator = iter(loader)
    first = [next(iterator).numpy()["image"] for _ in range(2)]
    state = json.dumps(loader.state_dict())  # beside the model's, in a checkpoint
    iterator.close()

    again = make(root)  # as after a restart, in another process or on another machine
    again.load_state_dict(json.loads(state))
    rest = [batch["image"] for batch in again.numpy()]

    assert len(first) + len(rest) == len(whole)
    assert all(np.array_equal(a, b) for a, b in zip(first + rest, whole, strict=True))
    print(f"{len(first)} batches, a restart, {len(rest)} batches: the same bytes")


if __name__ == "__main__":
    main(sys.argv[1])
