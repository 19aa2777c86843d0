"""Use an installed wheel: wheel_trial.py FOLDER [--torch], FOLDER holding labelled pictures.

Runs in an environment that has nothing else, so it imports nothing but what it tries.
"""

import subprocess
import sys
import time

IMPORT = """
import sys, time
start = time.perf_counter()
import drapps
print(round(1e3 * (time.perf_counter() - start)))
print(*{"torch", "tensorflow", "jax", "torchvision"} & set(sys.modules))
"""


def main() -> None:
    """Import, decode and hand out one batch; any surprise is an exception."""
    probe = subprocess.run(
        [sys.executable, "-I", "-c", IMPORT], stdout=subprocess.PIPE, text=True, check=True
    )
    milliseconds, frameworks = probe.stdout.splitlines()
    if frameworks:
        raise RuntimeError(f"import drapps imports {frameworks}")

    import drapps

    loader = drapps.image_folder(sys.argv[1]).center_crop(32).to("uint8").batch(3)
    start = time.perf_counter()
    if "--torch" in sys.argv:
        (batch,) = loader.torch()
        image = batch["image"].numpy()
    else:
        (batch,) = loader.numpy()
        image = batch["image"]
    if image.shape != (3, 3, 32, 32) or not 100 <= image.mean() <= 156 or image.std() < 1:
        raise RuntimeError(
            f"decoded to {image.shape}, mean {image.mean()}, deviation {image.std()}"
        )
    seconds = time.perf_counter() - start
    print(f"import takes {milliseconds} ms and brings no framework, a batch {1e3 * seconds:.0f} ms")


if __name__ == "__main__":
    main()
