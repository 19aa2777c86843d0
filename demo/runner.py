"""The child's main: does one job, tells the parent about it in lines of JSON on its output."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any


def main() -> None:
    """Runs the job that the only argument describes."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    # The channel is taken away from print(), so that a library's message cannot break it.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def emit(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event, default=str) + "\n")
        channel.flush()

    # Torch's advice against more workers than cores would tear the progress bars of the probe.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    from demo import accelerator, probe, train

    {"probe": probe.run, "train": train.run, "accelerate": accelerator.run}[spec["job"]](spec, emit)


if __name__ == "__main__":
    main()
