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

    def latest_epochs(self) -> list[int | None]:
        """The epoch that the least far split of each source is in, in the latest pass.

        With several ranks those splits count that this rank has had rows of; None for a source of
        which it has had none. Packed text that is no mixture has one source.
        """
        if self._latest is None:
            return [None] * max(1, len(self._spec.packing.weights))
        cursors = np.frombuffer(self._latest.cursors(self.latest_position()), _CURSOR)
        stages = self.explain().plan.stages or ()
        ends = np.cumsum([stage["splits"] for stage in stages if stage["op"] == "read"])
        return [self._least_epoch(each) for each in np.split(cursors, ends[:-1])]

    def _least_epoch(self, cursors: Any) -> int | None:
        assert self._latest is not None
        known = cursors["row"] != _UNKNOWN
        epochs = {int(epoch) for epoch in cursors["epoch"][known]}
        if self._spec.sampler.world == 1 and not known.all():
            epochs.add(self._latest.place[0])  # of splits whose first row is still to come
        return min(epochs, default=None)


def _merged(parts: list[bytes]) -> bytes:
    """Of each split the cursor of the rank that has one."""
    merged = np.frombuffer(max(parts, key=len), _CURSOR).copy()
    for part in parts:
        cursors = np.frombuffer(part, _CURSOR)
        known = np.flatnonzero(cursors["row"] != _UNKNOWN)
        merged[known] = cursors[known]
    return bytes(merged.tobytes())
