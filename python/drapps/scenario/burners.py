"""Foreign load: processes that want cores, started before a run and ended with it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_PROGRAM = Path(__file__).with_name("burner.py")


class Burners:
    """A number of burners, all idle at first. A context.

    They end with it, and when this process ends in any way: each reads from a pipe whose other end
    this process alone has.
    """

    def __init__(self, most: int) -> None:
        command = [sys.executable, "-I", "-S", str(_PROGRAM)]
        self._burners = []
        self._shares = [0.0] * most
        try:
            for _ in range(most):
                self._burners.append(
                    subprocess.Popen(
                        command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True
                    )
                )
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """The processes."""
        return [burner.pid for burner in self._burners]

    def become(self, count: int, duty: float) -> None:
        """From now on so many want a core for a share of the time, 0 to 1, and the others none."""
        wanted = [duty] * count + [0.0] * (len(self._burners) - count)
        for burner, before, share in zip(self._burners, self._shares, wanted, strict=True):
            if share != before and burner.stdin is not None:
                with suppress(BrokenPipeError):
                    os.write(burner.stdin.fileno(), f"{share}\n".encode())
        self._shares = wanted

    def close(self) -> None:
        """Ends them."""
        for burner in self._burners:
            burner.kill()
        for burner in self._burners:
            burner.wait()
            if burner.stdin is not None:
                burner.stdin.close()
        self._burners = []

    def __enter__(self) -> Burners:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
