"""Passes over a loader, one batch ahead of the training step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
from jax.sharding import NamedSharding

from drapps.adapter import BatchIterator, ColumnLoader, ConsumerMarks
from drapps.attributes import has_method
from drapps.errors import PipelineError
from drapps.jax.placement import Placement


class Loader:
    """The batches of `loader` on devices, one batch ahead of the training step.

    A batch of a `drapps.Loader` becomes a ``dict`` of ``jax.Array`` by column. Any other iterable
    works too: each batch must be a pytree of arrays (NumPy, torch on the CPU, numbers), and comes
    back as the same pytree.

    Nothing of a drapps batch is copied on the way to a CPU device where its address suits jax (each
    column's does; a shard's does where its rows are a multiple of 64 bytes). The arrays own the
    memory: they may outlive all loaders, and nothing writes to them. Batches of other iterables are
    copied once, because others may write to them.

    While a batch is in use the next one is on its way. States count batches that were yielded.

    With 64-bit types off, which is jax's default, int64 columns (``label``, ``index``,
    ``position``) become int32, and a value that does not fit is an error.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        sharding: NamedSharding | None = None,
        *,
        device: jax.Device | None = None,
    ) -> None:
        """Nothing runs before the first ``iter()``.

        Args:
            loader: iterated once per epoch.
            sharding: of all arrays; one of fewer dimensions takes the beginning of the
                ``PartitionSpec``. With several processes each gives its own rows, and the arrays
                are global. jax's default device where absent.
            device: where they go instead.

        Raises:
            PipelineError: `sharding` or `device` is none, or both were given.
        """
        if sharding is not None and not isinstance(sharding, NamedSharding):
            raise PipelineError(
                f"sharding is {type(sharding).__name__}: give a jax.sharding.NamedSharding, or "
                "nothing for jax's default device"
            )
        if device is not None and (sharding is not None or not isinstance(device, jax.Device)):
            raise PipelineError(
                f"device={device!r} must be one of jax.devices(), and goes without a sharding"
            )
        self._loader: Any = loader
        self._placement = Placement(sharding, device)
        self._latest: LoaderIterator | None = None

    def __iter__(self) -> LoaderIterator:
        """A fresh pass.

        Raises:
            PipelineError: the last batch of the epoch could not be sharded.
        """
        self._latest = LoaderIterator(self._loader, self._placement)
        return self._latest

    def __len__(self) -> int:
        """Steps of a whole epoch, where the loader has a length."""
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Tells the loader the epoch of the next ``iter()``."""
        self._loader.set_epoch(epoch)

    def state_dict(self) -> Any:
        """The loader's own state, behind the last batch that was yielded here.

        Raises:
            PipelineError: the loader has no ``state_dict``.
        """
        if self._latest is not None and not self._latest.over:
            return self._latest.state_dict()
        return _state_of(self._loader)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state` was made."""
        self._loader.load_state_dict(state)
        self._latest = None


class _Ready(NamedTuple):
    """What the loader gave, in its turn: a batch on its devices or what was raised instead."""

    batch: Any
    error: Exception | None
    state: Any


class _NoState(NamedTuple):
    """What the loader raised in the place of a state."""

    error: Exception


class LoaderIterator(Iterator[Any]):
    """One pass. Errors come in their turn, and do not end it where they do not end the loader's."""

    def __init__(self, loader: Iterable[Any], placement: Placement) -> None:
        self._placement = placement
        self._inner: Iterator[Any] = _begun(loader, placement)
        if isinstance(self._inner, BatchIterator) and isinstance(loader, ColumnLoader):
            placement.know(loader.layout)
            placement.check_epoch(loader.layout, self._inner.place[1])
        givers = (self._inner, loader)
        self._stateful: Any = next(
            (each for each in givers if has_method(each, "state_dict")), None
        )
        self._state = self._place()
        self._taken: list[Any] = []  # of the loader, and not yet on its way: an interrupt came
        self._ahead: _Ready | None = None
        self._native = self._inner if isinstance(self._inner, BatchIterator) else None
        self._marks: ConsumerMarks | None = None
        if self._native is not None:
            self._marks = self._native.consumed_outside()

    @property
    def over(self) -> bool:
        """Whether all batches were yielded."""
        if self._ahead is None:
            return self._native is not None and len(self._native) == 0
        return isinstance(self._ahead.error, StopIteration)

    def __next__(self) -> Any:
        if self._marks is None:
            return self._next()
        self._marks.asks()
        try:
            return self._next()
        finally:
            self._marks.gives()

    def _next(self) -> Any:
        ready = self._ahead = self._ahead or self._pull()
        if isinstance(ready.error, StopIteration):
            raise ready.error
        # The end of a pass is not asked for ahead: its last step would not be counted as one.
        more = ready.error is None and (self._native is None or len(self._native) > 0)
        following = self._pull() if more else None
        self._ahead, self._state = following, ready.state
        if ready.error is not None:
            raise ready.error
        return ready.batch

    def __iter__(self) -> LoaderIterator:
        return self

    def state_dict(self) -> Any:
        """As `Loader.state_dict`, of this pass."""
        if self._stateful is None:
            return _state_of(self._inner)
        if isinstance(self._state, _NoState):
            raise self._state.error
        return self._state

    def _place(self) -> Any:
        try:
            return None if self._stateful is None else self._stateful.state_dict()
        except Exception as error:  # for who asks for the state
            return _NoState(error)

    def _pull(self) -> _Ready:
        try:
            if not self._taken:
                self._taken.append(next(self._inner))
            batch = self._placement.put(self._taken[0])
        except Exception as error:
            self._taken.clear()
            return _Ready(None, error, self._place())
        self._taken.clear()
        return _Ready(batch, None, self._place())


def _begun(loader: Iterable[Any], placement: Placement) -> Iterator[Any]:
    """A pass, whose batches are finished on the one GPU that they go to."""
    if isinstance(loader, ColumnLoader) and (device := placement.core_device()) is not None:
        return loader.iterate_on(device)
    return iter(loader)


def _state_of(loader: Any) -> Any:
    if not has_method(loader, "state_dict"):
        raise PipelineError(f"{type(loader).__name__} has no state_dict(), so there is no state")
    return loader.state_dict()
