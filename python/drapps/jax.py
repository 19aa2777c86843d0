"""A loader's batches as jax arrays, on one device or sharded over many: ``drapps.jax.Loader``.

    loader = drapps.image_folder("photos").random_resized_crop(224).shuffle().batch(256)
    for batch in drapps.jax.Loader(loader, sharding):
        state = train_step(state, batch["image"], batch["label"])

jax is imported here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from drapps.adapter import BatchIterator, ColumnLoader, ConsumerMarks, Layout
from drapps.attributes import has_method
from drapps.batch import Batch
from drapps.errors import PipelineError

try:
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"drapps.jax needs {error.name}: pip install 'jax>=0.6' (for GPUs 'jax[cuda13]')",
        name=error.name,
    ) from None

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    HostArray = npt.NDArray[Any]


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
        self._inner: Iterator[Any] = iter(loader)
        if isinstance(self._inner, BatchIterator) and isinstance(loader, ColumnLoader):
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


def _state_of(loader: Any) -> Any:
    if not has_method(loader, "state_dict"):
        raise PipelineError(f"{type(loader).__name__} has no state_dict(), so there is no state")
    return loader.state_dict()


class Placement:
    """Where arrays go, and which shapes can go there."""

    def __init__(self, sharding: NamedSharding | None, device: jax.Device | None = None) -> None:
        self._sharding = sharding
        self._device = () if device is None else (device,)
        self._global = sharding is not None and not sharding.is_fully_addressable
        self._rows: dict[str, tuple[int, ...]] = {}  # of the first batch, by leaf
        self._parts: dict[int, int] = {}  # by axis: into how many this process's part is cut

    def put(self, batch: Any) -> Any:
        """The arrays of `batch` on their way to their devices.

        Raises:
            PipelineError: a part of it is no array, holds what jax's type cannot, or has a shape
                that the sharding does not divide.
        """
        if isinstance(batch, Batch):
            return {name: self._put(repr(name), _view(tensor)) for name, tensor in batch.items()}

        def put(path: Any, leaf: Any) -> jax.Array:
            name = f"batch{jax.tree_util.keystr(path)}"
            array = _copy(name, leaf)
            if self._global:
                self._check_rows(name, array.shape[:1])
            return self._put(name, array)

        return jax.tree_util.tree_map_with_path(put, batch)

    def check_epoch(self, layout: Layout, position: int) -> None:
        """Looks ahead from `position` to the last batch, lest an epoch fail at its end.

        Raises:
            PipelineError: the sharding does not divide it, processes have different numbers of
                rows in it, or rows may be skipped anywhere.
        """
        if self._sharding is None or not self._sharding.spec:
            return
        parts = self._parts_of(0)
        if parts == 1 and not self._global:
            return
        if layout.on_error == "skip":
            raise PipelineError(
                f"on_error('skip') makes shorter batches, which {self._sharding.spec} cannot cut: "
                "use on_error('replace')"
            )
        last, world = layout.left_over(position), layout.world
        rows = last // world + (layout.rank < last % world)
        if self._global and last % world:
            raise PipelineError(
                f"the last {last} samples of the epoch do not divide by {world} processes: {_FIX}"
            )
        if rows % parts:
            raise PipelineError(
                f"the last batch of the epoch has {rows} rows, which {self._sharding.spec} cuts "
                f"into {parts} parts: {_FIX}"
            )

    def _put(self, name: str, array: HostArray) -> jax.Array:
        try:
            if self._sharding is None:
                output = jax.device_put(array, *self._device)
            else:
                self._check(name, array.shape)
                output = jax.make_array_from_process_local_data(self._cut(array.ndim), array)
        except TypeError as error:
            raise PipelineError(f"{name} is no array that jax has: {error}") from error
        if array.dtype != output.dtype and array.dtype.kind in "iu" and array.size:
            _check_fits(name, array, output.dtype)
        return output

    def _cut(self, ndim: int) -> NamedSharding:
        sharding = self._sharding
        assert sharding is not None
        if len(sharding.spec) <= ndim:
            return sharding
        spec = PartitionSpec(*sharding.spec[:ndim])
        return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        assert self._sharding is not None
        for axis, size in enumerate(shape[: len(self._sharding.spec)]):
            parts = self._parts_of(axis)
            if size % parts:
                fix = _FIX if axis == 0 else "choose another size or another sharding"
                raise PipelineError(
                    f"{name} has the shape {shape}, and {self._sharding.spec} cuts axis {axis} "
                    f"into {parts} parts: {fix}"
                )

    def _check_rows(self, name: str, rows: tuple[int, ...]) -> None:
        first = self._rows.setdefault(name, rows)
        if rows != first:
            raise PipelineError(
                f"{name} has {rows} rows where the first batch had {first}; other processes may "
                f"have another number: {_FIX}"
            )

    def _parts_of(self, axis: int) -> int:
        """How many different parts of this axis the devices of this process hold."""
        if axis not in self._parts:
            assert self._sharding is not None
            mesh, entry = self._sharding.mesh, self._sharding.spec[axis]
            names = () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)
            whole = math.prod(mesh.shape[name] for name in names)
            alone = NamedSharding(mesh, PartitionSpec(entry))
            held = alone.addressable_devices_indices_map((whole,)).values()
            self._parts[axis] = len({index[0].start for index in held})
        return self._parts[axis]


_CUDA = 2  # as DLPack calls the type of such a device
_FIX = (
    "use batch(…, drop_last=True), or shard(…, remainder='pad'), which fills up with flagged rows "
    "(in other loaders, drop_last=True)"
)


def _view(tensor: Any) -> Any:
    """A column as an array on the same memory: NumPy's, or jax's where it lies on a GPU."""
    import numpy as np

    if tensor.__dlpack_device__()[0] == _CUDA:
        return jnp.from_dlpack(tensor)  # whose stream waits for the batch
    if tensor.dtype == "bfloat16":  # which NumPy has by jax alone
        return np.asarray(jnp.from_dlpack(tensor))
    return np.asarray(tensor)


def _copy(name: str, leaf: Any) -> HostArray:
    """A leaf of a batch as a NumPy array of its own."""
    import numpy as np

    try:
        if "bfloat16" in str(getattr(leaf, "dtype", "")) and hasattr(leaf, "__dlpack__"):
            leaf = jnp.from_dlpack(leaf)
        return np.array(np.asarray(leaf))
    except Exception as error:  # whatever the array's own library raises
        raise PipelineError(
            f"{name} is {type(leaf).__name__}, of which no NumPy array can be made: {error}"
        ) from error


def _check_fits(name: str, array: HostArray, dtype: np.dtype[Any]) -> None:
    import numpy as np

    bounds = np.iinfo(dtype)
    for value in (int(array.min()), int(array.max())):
        if not bounds.min <= value <= bounds.max:
            raise PipelineError(
                f"{name} holds {value}, and jax makes {dtype} of {array.dtype}: "
                "jax.config.update('jax_enable_x64', True) keeps 64 bits"
            )
