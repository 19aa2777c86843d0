"""Everything that a run of the demo measured, as it was measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Results:
    """The raw numbers.

    Attributes:
        data: what the pictures are, in words.
        machine: the machine, in words.
        probe: job (`train`, `load`, `drapps`) → num_workers → samples/s.
        workers: stock's best num_workers with the network behind it.
        accelerator_workers: the same with the emulated accelerator behind it.
        step_s: what the emulated step takes.
        device: what trained.
        lifted: what DRAPPS says about its native path.
        training: feed → {"epochs": train.py's `epoch` events, "peak_bytes"}.
        accelerated: feed → accelerator.py's `series` event.
    """

    data: str = ""
    machine: str = ""
    probe: dict[str, dict[int, float]] = field(default_factory=dict)
    workers: int = 0
    accelerator_workers: int = 0
    step_s: float = 0.0
    device: str = ""
    lifted: str = ""
    training: dict[str, dict[str, Any]] = field(default_factory=dict)
    accelerated: dict[str, dict[str, Any]] = field(default_factory=dict)

    def save(self, file: Path) -> None:
        """Writes all of it as JSON."""
        file.write_text(json.dumps(asdict(self), indent=1))
