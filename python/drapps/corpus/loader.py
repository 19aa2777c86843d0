"""The loader of rows of text, whose states also say where each split stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps import state
from drapps.arguments import whole
from drapps.corpus.origins import Document, documents_of
from drapps.corpus.skipping import Skipped, SkippingStream, in_state, steps_left
from drapps.corpus.spec import PackedSpec
from drapps.epochs import LAST
from drapps.errors import StateError
from drapps.loader import KIND, Loader
from drapps.stream import Stream

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.torch.ahead import AheadStream

# The cursor of a split; of a split that another rank has, the row has all bits set.
_CURSOR = np.dtype([("row", "<u8"), ("epoch", "<u4"), ("rest", "V20")])
_UNKNOWN = 2**64 - 1
_FAR = 2**63 - 1  # behind every position


class PackedLoader(Loader):
    """Batches of text; made by `PackedPipeline.batch` and `PaddedPipeline.batch`.

    A state may be loaded with another batch size or world size: then give `load_state_dict` the
    states of all ranks, in a list. With fewer the rows are the same, but what is missing is read
    and tokenised from the beginning of the epoch.
    """

    _source: TextSource
    _spec: PackedSpec
    _skipped: tuple[Skipped, ...] = ()

    def skip_steps(self, first: int, behind: int, epoch: int | None = None) -> None:
        """The steps from `first` to before `behind` are left out, from the next ``iter()`` on.

        They count from the beginning of the epoch, whatever is left out before them. States have
        them, so that who loads one leaves them out, too. All ranks must say the same.

        Args:
            first: of the steps.
            behind: the one that comes again.
            epoch: whose steps they are; that of the next ``iter()`` by default.

        Raises:
            PipelineError: no such steps.
        """
        number = self._epochs.upcoming[0] if epoch is None else whole("epoch", epoch, 0, LAST)
        step = self._spec.sampler.global_batch
        begin = whole("first", first, 0, _FAR // step)
        end = whole("behind", behind, begin + 1, _FAR // step)
        self._skip([Skipped(number, begin * step, end * step)])

    def _skip(self, more: Iterable[Skipped]) -> None:
        self._skipped = tuple(sorted({*self._skipped, *more}))

    def documents(
        self,
        step: int,
        epoch: int | None = None,
        state: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> list[Document]:
        """Which documents this rank's batch of a step has or had, row by row.

        The batch is made once more: from where the latest pass remembers its splits to stand, from
        a state of a step before it, or else from the beginning of the epoch, which takes as long
        as the steps before did.

        Args:
            step: counted from the beginning of the epoch, as in `skip_steps`.
            epoch: whose step it is; that of the latest pass by default, or of the next one.
            state: of a place before the step, or those of all ranks, as `load_state_dict` takes it.

        Raises:
            PipelineError: no such step, or a state of another stream.
        """
        latest = self._latest
        if epoch is None:
            epoch = self._epochs.upcoming[0] if latest is None else latest.epoch
        position = whole("step", step, 0) * self._spec.sampler.global_batch
        cursors = b""
        if state is not None:
            state_epoch, at, given = self._read(state)
            cursors = given if state_epoch == epoch and at <= position else b""
        elif latest is not None and latest.epoch == epoch:
            cursors = latest.cursors(position)
        return documents_of(self._source, self._spec, self._resources, (epoch, position), cursors)

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """The next ``iter()`` goes on where `state_dict`, or those of all ranks, were made.

        Raises:
            PipelineError: no state of `state_dict`, one of other documents, another order or
                pipeline, or states of different positions.
        """
        states = [state_dict] if isinstance(state_dict, Mapping) else list(state_dict)
        resumed = self._read(states)
        skipped = [each for one in states for each in in_state(one)]
        super().load_state_dict(states[0])
        self._resumed = resumed
        self._skip(skipped)

    def _read(
        self, states: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> tuple[int, int, bytes]:
        """Epoch, position and cursors of the states of some ranks."""
        states = [states] if isinstance(states, Mapping) else list(states)
        if not states:
            raise StateError("there are no states in the list")
        places = {state.check(each, KIND, self._identity) for each in states}
        if len(places) > 1:
            raise StateError(
                f"the states are of different places, {sorted(places)}: save all at one step"
            )
        return *places.pop(), _merged([state.cursors(each) for each in states])

    def steps(self, epoch: int, position: int = 0) -> int:
        """Steps of an epoch from a position on, but those that are left out."""
        steps = super().steps(epoch, position)
        skipped = [each for each in self._skipped if each.epoch == epoch]
        if not skipped:
            return steps
        return steps_left(skipped, position, self._source.size, self._spec.sampler.global_batch)

    def _stream(self, epoch: int, position: int, device: str | None = None) -> Stream:
        if not any(each.epoch == epoch for each in self._skipped):
            return super()._stream(epoch, position, device)
        return self._seen(
            SkippingStream(
                self._native,
                epoch,
                position,
                skipped=self._skipped,
                end=self._source.size,
                step=self._spec.sampler.global_batch,
                cursors=self._cursors(epoch, position),
                bad_samples_file=self._bad_samples_file,
            )
        )

    def _state(
        self, epoch: int, position: int, stream: Stream | AheadStream | None = None
    ) -> dict[str, Any]:
        snapshot = super()._state(epoch, position, stream)
        if self._skipped:
            snapshot["skipped"] = [list(each) for each in self._skipped]
        return snapshot

    def latest_position(self) -> int:
        """Rows of all ranks that the batches of the latest pass have consumed."""
        return 0 if self._latest is None else self._latest.place[1]

    def latest_epochs(self) -> list[int | None]:
        """The epoch of the next row of each source's least far split, in the latest pass.

        With several ranks those splits count that this rank has had rows of; None for a source of
        which it has had none. Packed text that is no mixture has one source. Of Parquet the end of
        an epoch is known once the next one is begun.
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
    """For each split, the cursor of the rank that has one."""
    merged = np.frombuffer(max(parts, key=len), _CURSOR).copy()
    for part in parts:
        cursors = np.frombuffer(part, _CURSOR)
        known = np.flatnonzero(cursors["row"] != _UNKNOWN)
        merged[known] = cursors[known]
    return bytes(merged.tobytes())
