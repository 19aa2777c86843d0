"""Feeds neural-network training, and tunes itself while it does."""

from drapps._core import __version__

__all__ = ["__version__"]
