"""Where arrays go, and how those of a batch get there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from drapps.adapter import Layout
from drapps.batch import Batch
from drapps.errors import PipelineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    HostArray = npt.NDArray[Any]

try:
    from jax import enable_x64 as _all_bits
except ImportError:  # before jax 0.8
    from jax.experimental import enable_x64 as _all_bits


class Placement:
    """Where arrays go, and which shapes can go there."""

    def __init__(self, sharding: NamedSharding | None, device: jax.Device | None = None) -> None:
        self._sharding = sharding
        self._device = () if device is None else (device,)
        self._global = sharding is not None and not sharding.is_fully_addressable
        self._rows: dict[str, tuple[int, ...]] = {}  # of the first batch, by leaf
        self._parts: dict[int, int] = {}  # by axis: into how many this process's part is cut
        self._narrow: set[str] = set()  # columns of int64 whose values fit in 32 bits

    def core_device(self) -> str | None:
        """What the core calls the GPU that all arrays go to; None for several, or none of CUDA."""
        if self._sharding is not None:
            return None
        (device,) = self._device or jnp.zeros(()).devices()
        # jax calls one of ROCm a "gpu", too.
        if device.platform != "gpu" or "cuda" not in device.client.platform_version.lower():
            return None
        return f"cuda:{device.local_hardware_id}"

    def put(self, batch: Any) -> Any:
        """The arrays of `batch` on their way to their devices.

        Raises:
            PipelineError: a part of it is no array, holds what jax's type cannot, or has a shape
                that the sharding does not divide.
        """
        if isinstance(batch, Batch):
            return {
                name: self._put(repr(name), _view(repr(name), tensor, name in self._narrow))
                for name, tensor in batch.items()
            }

        def put(path: Any, leaf: Any) -> jax.Array:
            name = f"batch{jax.tree_util.keystr(path)}"
            array = _copy(name, leaf)
            if self._global:
                self._check_rows(name, array.shape[:1])
            return self._put(name, array)

        return jax.tree_util.tree_map_with_path(put, batch)

    def know(self, layout: Layout) -> None:
        """Which columns hold no number above 31 bits, whatever samples they are of."""
        if layout.dataset_size < 2**31:
            self._narrow |= {"index", "position"}
        if layout.classes:
            self._narrow.add("label")

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
            least, most = int(array.min()), int(array.max())
            _check_bounds(name, least, most, array.dtype, output.dtype)
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


def _view(name: str, tensor: Any, narrow: bool) -> Any:
    """A column as an array on the same memory: NumPy's, or jax's where it lies on a GPU.

    Args:
        name: of the column.
        tensor: what it holds.
        narrow: integers of 64 bits are known to fit in 32.
    """
    import numpy as np

    if tensor.__dlpack_device__()[0] == _CUDA:
        if not narrow and tensor.dtype in ("int64", "uint64") and not jax.config.jax_enable_x64:
            return _narrowed(name, tensor)
        return jnp.from_dlpack(tensor)  # whose stream waits for the batch, and which narrows
    if tensor.dtype == "bfloat16":  # which NumPy has by jax alone
        return np.asarray(jnp.from_dlpack(tensor))
    return np.asarray(tensor)


def _narrowed(name: str, tensor: Any) -> jax.Array:
    """An array of 32 bits, once its values were looked at, which takes a wait for the device.

    Raises:
        PipelineError: one does not fit.
    """
    import numpy as np

    dtype = np.dtype(tensor.dtype.replace("64", "32"))
    with _all_bits(True):
        whole = jnp.from_dlpack(tensor)
        if whole.size:
            _check_bounds(name, int(whole.min()), int(whole.max()), tensor.dtype, dtype)
        return whole.astype(dtype)


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


def _check_bounds(name: str, least: int, most: int, of: Any, dtype: np.dtype[Any]) -> None:
    import numpy as np

    bounds = np.iinfo(dtype)
    for value in (least, most):
        if not bounds.min <= value <= bounds.max:
            raise PipelineError(
                f"{name} holds {value}, and jax makes {dtype} of {of}: "
                "jax.config.update('jax_enable_x64', True) keeps 64 bits"
            )
