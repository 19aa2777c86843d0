"""The command ``drapps``: ``drapps COMMAND --help`` says what each does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from drapps import __version__
from drapps.errors import PipelineError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 for a failure, 2 for wrong use."""
    from drapps.cli import lift, pack

    parser = argparse.ArgumentParser("drapps", description="Tools for the data that DRAPPS feeds.")
    parser.add_argument("--version", action="version", version=f"drapps {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    lift.register(commands)
    pack.register(commands)
    chosen = parser.parse_args(arguments)
    try:
        message: str = chosen.run(chosen)
    except (PipelineError, OSError) as error:
        print(f"drapps: {error}", file=sys.stderr)
        return 1
    print(message)
    return 0
