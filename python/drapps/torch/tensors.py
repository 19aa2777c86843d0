"""How tensors cross processes: their bytes as buffers beside the pickle, each storage once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, UntypedStorage

from drapps.worker.serialise import Reduce

_Reduced = Any
_SPARE = (
    2  # a storage of at most so many times a view's bytes is sent whole, so that views stay views
)


class _StorageBytes:
    """One storage on its way; pickling the same object twice keeps two views of it together."""

    def __init__(self, storage: UntypedStorage) -> None:
        self.storage = storage

    def __reduce_ex__(self, protocol: Any) -> _Reduced:
        if self.storage.nbytes() == 0:
            return UntypedStorage, (0,)
        flat: Any = torch.empty(0, dtype=torch.uint8).set_(self.storage).numpy()
        return _storage_of, (pickle.PickleBuffer(flat),)


def _storage_of(buffer: Any) -> UntypedStorage:
    return torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()


def _whole(buffer: Any, dtype: str, shape: tuple[int, ...]) -> Tensor:
    # Two calls that keep the GIL: a training process that gave it up here, as most functions of
    # torch do, might get it back only when a worker that took its core has had a turn.
    return torch.from_numpy(np.ndarray(shape, dtype, buffer))


def _storage_in(source: UntypedStorage | Tensor) -> UntypedStorage:
    return source.untyped_storage() if isinstance(source, Tensor) else source


def _tensor_of(
    source: UntypedStorage | Tensor,
    dtype: torch.dtype,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    tensor = torch.empty(0, dtype=dtype).set_(_storage_in(source), offset, size, stride)
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


def _subclass_of(make: Callable[..., Tensor], kind: type[Tensor], args: Any, state: Any) -> Tensor:
    tensor = make(*args).as_subclass(kind)
    restored: Tensor = torch._utils._set_obj_state(tensor, state)  # type: ignore[no-untyped-call]
    return restored


class _Writable:
    """The memory of an array that may not be written to, as one that may."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        memory = array.__array_interface__
        self.__array_interface__ = {**memory, "data": (memory["data"][0], False)}
        self.array = array


def _array_reduced(array: np.ndarray[Any, Any]) -> _Reduced:
    """Another process gets an array of its own, which it may write to whatever this one is.

    An array in the other order of bytes arrives in the machine's, as NumPy brings it from stock
    workers.
    """
    if not array.dtype.isnative and not array.dtype.hasobject:
        return array.__reduce_ex__(4)
    if array.flags.writeable or not array.flags.forc or array.dtype.hasobject:
        return NotImplemented
    plain = array.dtype.isbuiltin == 1  # a type that __array_interface__ describes in full
    return (np.asarray(_Writable(array)) if plain else array.copy(order="K")).__reduce_ex__(5)


def tensor_reducer(shared: bool = False, refuse_shared: bool = False) -> Reduce:
    """A `pickle.Pickler.reducer_override` for one pickle that may hold tensors.

    Dense tensors and storages in CPU memory go as buffers, subclasses such as ``tv_tensors`` with
    their attributes; arrays of NumPy arrive writable, as under the stock loader; everything else as
    it pickles by itself. Tensors in shared memory are copied too, unless `shared` leaves them to
    multiprocessing, or `refuse_shared` raises RuntimeError.
    """
    storages: dict[int, _StorageBytes | Tensor] = {}  # or the tensor that brought a storage

    def send(tensor: Tensor, pickled: bool) -> _Reduced:
        storage = tensor.untyped_storage()
        spare = storage.nbytes() > _SPARE * tensor.numel() * tensor.element_size() + 4096
        if spare and storage._cdata not in storages:
            tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
            storage = tensor.untyped_storage()
        array = _array_of_all(tensor, storage) if pickled else None
        if array is not None and storage._cdata not in storages:
            storages[storage._cdata] = tensor
            return _whole, (pickle.PickleBuffer(array), array.dtype.str, array.shape)
        sent = storages.setdefault(storage._cdata, _StorageBytes(storage))
        place = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
        return _tensor_of, (sent, tensor.dtype, *place, tensor.requires_grad)

    def send_storage(storage: UntypedStorage) -> _Reduced:
        if storage.is_shared() and refuse_shared:
            raise RuntimeError("a storage in shared memory stays where it is")
        if storage.is_shared() and shared:
            return NotImplemented
        return _storage_in, (storages.setdefault(storage._cdata, _StorageBytes(storage)),)

    def reduce(value: Any) -> _Reduced:
        kind = type(value)
        if kind is np.ndarray and not shared:
            return _array_reduced(value)
        if kind is UntypedStorage and value.device.type == "cpu":
            return send_storage(value)
        if kind is not Tensor and (not isinstance(value, Tensor) or not _plain_subclass(kind)):
            return NotImplemented
        if value.requires_grad and not value.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries. If you just want to "
                "transfer the data, call detach() on the tensor before serializing (e.g., putting "
                "it on the queue)."
            )
        if refuse_shared and value.is_shared():
            raise RuntimeError("a tensor in shared memory stays where it is")
        if not _dense_in_memory(value) or (shared and value.is_shared()):
            return NotImplemented
        if kind is Tensor:
            return send(value, pickled=True)
        with torch._C.DisableTorchFunctionSubclass():
            make, args = send(value.as_subclass(Tensor), pickled=False)
        state = torch._utils._get_obj_state(value)  # type: ignore[no-untyped-call]
        return _subclass_of, (make, kind, args, state)

    return reduce


def _array_of_all(tensor: Tensor, storage: UntypedStorage) -> Any:
    """The tensor as an array, where it is all of its storage and NumPy has its type."""
    if tensor.requires_grad or not tensor.is_contiguous() or storage.nbytes() == 0:
        return None
    if storage.nbytes() != tensor.numel() * tensor.element_size():
        return None
    try:
        return tensor.numpy()
    except TypeError:  # bfloat16 and others
        return None


def _plain_subclass(kind: type) -> bool:
    """Whether tensors of a subclass are a tensor and their attributes."""
    own: Any = (kind.__reduce_ex__, kind.__reduce__, getattr(kind, "__torch_dispatch__", None))
    base: Any = (Tensor.__reduce_ex__, Tensor.__reduce__, Tensor.__torch_dispatch__)
    return kind is not torch.nn.Parameter and own == base


def _dense_in_memory(tensor: Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not tensor.is_quantized
        and not tensor.is_nested
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )
