"""What runs and what was tuned: `python examples/explain.py DIR [SECONDS]`.

DIR holds one folder of pictures per class, enough that an epoch takes seconds. A step that sleeps
stands for training.
"""

import sys
import time

import drapps


def main(root: str, seconds: float) -> None:
    """Feeds an emulated training step under `hill_climb` and prints its decisions."""
    pipeline = drapps.image_folder(root).random_resized_crop(64).flip().shuffle()
    loader = pipeline.batch(8, policy="hill_climb", cpu_budget=2, ram_budget=256 << 20)

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in loader:
            time.sleep(0.01)

    explained = loader.explain()
    print(explained)
    print(explained.decisions)
    print(loader.memory())
    print("to start from these next time:", loader.export_settings())


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 20.0)
