"""The loader of packed text, whose states also say where each split stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drapps import state
from drapps.corpus.spec import PackedSpec
from drapps.errors import StateError
from drapps.loader import KIND, Loader

# A split's; of one that another rank has, the row has all bits set.
_CURSOR = np.dtype([("row", "<u8"), ("epoch", "<u4"), ("rest", "V20")])
_UNKNOWN = 2**64 - 1


class PackedLoader(Loader):
    """Batches of packed text; made by `PackedPipeline.batch`.

    A state may be loaded with another batch size or world size: then give `load_state_dict` the
    states of all ranks, in a list. With fewer the rows are the same, but what is missing is read
    and tokenised from the beginning of the epoch.
    """

    _spec: PackedSpec

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """The next ``iter()`` goes on where `state_dict`, or those of all ranks, were made.

        Raises:
            PipelineError: no state of `state_dict`, one of other documents, another order or
                pipeline, or states of different positions.
        """
        states = [state_dict] if isinstance(state_dict, Mapping) else list(state_dict)
        if not states:
            raise StateError("there are no states in the list")
        places = {state.check(each, KIND, self._identity) for each in states}
        if len(places) > 1:
            raise StateError(
                f"the states are of different places, {sorted(places)}: save all at one step"
            )
        super().load_state_dict(states[0])
        epoch, position = places.pop()
        self._resumed = (epoch, position, _merged([state.cursors(each) for each in states]))

    def latest_position(self) -> int:
        """Rows of all ranks that the batches of the latest pass have consumed."""
        return 0 if self._latest is None else self._latest.place[1]

    def latest_epoch(self) -> int:
        """The epoch of the split that is the least far in the latest pass; needs a batch of it."""
        assert self._latest is not None
        cursors = np.frombuffer(self._latest.cursors(self.latest_position()), _CURSOR)
        return int(cursors["epoch"].min())


def _merged(parts: list[bytes]) -> bytes:
    """Of each split the cursor of the rank that has one."""
    merged = np.frombuffer(max(parts, key=len), _CURSOR).copy()
    for part in parts:
        cursors = np.frombuffer(part, _CURSOR)
        known = np.flatnonzero(cursors["row"] != _UNKNOWN)
        merged[known] = cursors[known]
    return bytes(merged.tobytes())
