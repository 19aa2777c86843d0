"""What a calibration gives."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drapps import _core
from drapps.output import NewFile
from drapps.simulation.calibration.file import text_of
from drapps.simulation.calibration.residual import Residual, covered
from drapps.simulation.machine import Machine
from drapps.simulation.worlds import World

_DISTURBED = 0.1  # cores of others, from which on a table says so


@dataclass(frozen=True)
class Calibration:
    """The simulator, fitted. Printed, it is a table.

    Attributes:
        machine: what `drapps.simulation.simulate` takes.
        world: of the workload that was run, by group and name, as ``sim/world_json.h`` lists them:
            what the policy ``mpc`` takes as its weights.
        residuals: of each run.
        extrapolates: within which bounds it was measured, by what; beyond them the simulator
            extrapolates.
    """

    machine: Machine
    world: World
    residuals: tuple[Residual, ...]
    extrapolates: Mapping[str, tuple[float, float]]

    def policy(self, **parameters: float) -> dict[str, Any]:
        """The policy ``mpc`` with this calibration as its weights.

        Args:
            parameters: of the policy, by name: docs/reference/policies.md lists them.
        """
        world = json.dumps(self.world).encode()
        return {
            "name": "mpc",
            "parameters": parameters,
            "weights": base64.b64encode(world).decode(),
            "schema": _core.schema(),
        }

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        residuals = [
            {**vars(each), "knobs": dict(each.knobs), "error": each.error}
            for each in self.residuals
        ]
        return {
            "machine": self.machine.to_json(),
            "world": self.world,
            "residuals": residuals,
            "extrapolates": {name: list(ends) for name, ends in self.extrapolates.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the machine into a new file, for ``drapps simulate SCENARIO --machine FILE``.

        Raises:
            FileExistsError: there is a file of this name.
            OSError: it cannot be written.
        """
        file = NewFile(Path(path))
        try:
            file.write(text_of(self.machine, self.residuals, self.extrapolates).encode())
            file.appear()
        finally:
            file.discard()

    def __str__(self) -> str:
        rows = [("run", "measured", "simulated", "error", "others")]
        rows += [
            (
                each.name,
                f"{each.measured:,.0f}/s",
                f"{each.simulated:,.0f}/s",
                f"{each.error:+.1%}",
                f"{each.others:.2f} cores",
            )
            for each in self.residuals
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{self.machine.name}: {self.machine.about}"]
        for row in rows:
            cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
            lines.append("  " + "  ".join(cells).rstrip())
        lines.append(f"covered: {'; '.join(covered(self.extrapolates))}")
        lines.append("beyond that the simulator extrapolates")
        busy = max((each.others for each in self.residuals), default=0.0)
        if busy > _DISTURBED:
            lines.append(
                f"other programs used up to {busy:.1f} cores meanwhile, which the simulator was "
                "told: calibrate again on an idle machine for better numbers"
            )
        return "\n".join(lines)
