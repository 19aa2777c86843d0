"""Recognising data in memory: TensorDataset, torchvision's small datasets, and subsets of them.

Their samples are rows of tensors and arrays that the user owns. Nothing is copied: a row is read
when its batch is made. What the user exchanges or resizes is noticed at the next ``iter()``.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.data

from drapps.array_source import DTYPES, ArraySource, Column, column_of, picture_of
from drapps.errors import PipelineError
from drapps.torch.kept import METHODS, copy_of, is_unchanged, rows_of, without_subsets
from drapps.torch.pictures import require_plain_pictures
from drapps.torch.recognise import NotLifted, name_of, require_pristine, short_name

_HOME = "torchvision.datasets."
# Where each dataset keeps its labels; and the layout of its pictures, where they have channels.
KNOWN = {
    _HOME + "mnist.MNIST": ("targets", "nhwc"),
    _HOME + "mnist.FashionMNIST": ("targets", "nhwc"),
    _HOME + "mnist.KMNIST": ("targets", "nhwc"),
    _HOME + "mnist.EMNIST": ("targets", "nhwc"),
    _HOME + "mnist.QMNIST": ("targets", "nhwc"),
    _HOME + "cifar.CIFAR10": ("targets", "nhwc"),
    _HOME + "cifar.CIFAR100": ("targets", "nhwc"),
    _HOME + "svhn.SVHN": ("labels", "nchw"),
    _HOME + "stl10.STL10": ("labels", "nchw"),
    _HOME + "usps.USPS": ("targets", "nhwc"),
    _HOME + "semeion.SEMEION": ("labels", "nhwc"),
}


_WHOLE = {getattr(torch, f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32)}
_WHOLE |= {torch.int64}
# Datasets that give a label as it lies in its array or tensor, of its own dtype; the others give
# an int of it.
_AS_THEY_LIE = ("CIFAR10", "CIFAR100")


class Arrays:
    """Data in memory, seen through any number of subsets.

    Attributes:
        transform: of the pictures; None where there are none.
        channels: of the pictures; 0 where there are none.
        description: how the report calls it.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        picture: Column | None,
        labels: Any,
        subsets: list[Any],
        owner: Any,
        transform: Any,
        description: str,
        as_they_lie: bool = False,
    ) -> None:
        """See `recognise_arrays`.

        Args:
            columns: that are read where they lie.
            picture: the column of the pictures, read where it lies; None where there are none.
            labels: the user's sequence of class numbers, where it is no array of the dtype that
                they are delivered in and has to be converted; else None.
            subsets: the indices of each ``Subset``, outermost first.
            owner: what keeps the memory alive.
            transform: of the pictures; None where there are none.
            description: how the report calls the data.
            as_they_lie: whether labels are delivered in their own dtype, and not in int64.
        """
        self._columns = columns
        self._picture = picture
        self._labels = labels
        self._labels_as_they_lie = as_they_lie
        self._subsets = subsets
        self._owner = owner
        self._copied: list[Any] | None = None  # labels and subsets as the source has them
        self.transform = transform
        self.channels = 0 if picture is None else picture.shape[1]
        self.description = description

    def __len__(self) -> int:
        return len(self._subsets[0]) if self._subsets else self._rows

    @property
    def _rows(self) -> int:
        return (self._picture or self._columns[0]).shape[0]

    def unchanged_since(self, earlier: Any) -> bool:
        """Whether a source made of `earlier` stands for this one: same memory, same lists."""
        if not isinstance(earlier, Arrays) or earlier._copied is None:
            return False
        mine = [self._labels, *self._subsets]
        return (
            self._columns == earlier._columns
            and self._picture == earlier._picture
            and len(mine) == len(earlier._copied)
            and all(map(is_unchanged, mine, earlier._copied))
        )

    def source(self) -> ArraySource:
        """The native source of the rows.

        Raises:
            NotLifted: a list of labels or indices that would fail there, or say something else.
        """
        columns, owner = self._columns, self._owner
        if len(self) == 0:
            raise NotLifted("the dataset is empty")
        if self._labels is not None:
            labels = _class_numbers(self._labels, self._labels_as_they_lie)
            if len(labels) < self._rows:
                raise NotLifted(f"it has {len(labels)} labels for {self._rows} pictures")
            columns = (*columns, column_of("label", labels[: self._rows]))
            owner = (owner, labels)
        rows = rows_of(self._subsets, self._rows)
        self._copied = [copy_of(values) for values in (self._labels, *self._subsets)]
        return ArraySource(columns, self._picture, owner, rows)


def recognise_arrays(dataset: Any) -> Arrays | None:
    """The data in memory behind a dataset; None where it is something else.

    Raises:
        NotLifted: it is such data, but does more than picking rows, or with arrays that have no
            native form.
    """
    dataset, subsets = without_subsets(dataset)
    if type(dataset) is torch.utils.data.TensorDataset:
        require_pristine(dataset, METHODS)
        return _of_tensors(dataset, subsets)
    name = name_of(dataset)
    if isinstance(dataset, type) or name not in KNOWN:
        return None
    require_pristine(dataset, METHODS)
    require_plain_pictures()
    return _of_pictures(dataset, *KNOWN[name], subsets)


def _of_tensors(dataset: Any, subsets: list[Any]) -> Arrays:
    columns = tuple(
        _column(str(place), f"tensor {place} of the TensorDataset", tensor)
        for place, tensor in enumerate(dataset.tensors)
    )
    if not columns:
        raise NotLifted("the TensorDataset has no tensors")
    if len({column.shape[0] for column in columns}) > 1:
        raise NotLifted("the tensors of the TensorDataset differ in length")
    rows = len(subsets[0]) if subsets else columns[0].shape[0]
    description = f"TensorDataset of {rows} rows{' (a subset)' if subsets else ''}"
    kept = tuple(_kept(tensor) for tensor in dataset.tensors)
    return Arrays(columns, None, None, subsets, kept, None, description)


def _of_pictures(dataset: Any, labels_name: str, layout: str, subsets: list[Any]) -> Arrays:
    name = short_name(dataset)
    if dataset.target_transform is not None:
        raise NotLifted(f"{name} has a target_transform")
    if dataset.transform is None:
        raise NotLifted(f"{name} has no transform, so its pictures make no tensors")
    labels = getattr(dataset, labels_name)
    if labels is None:
        raise NotLifted(f"{name} has no labels")
    if name == "QMNIST":
        if not dataset.compat:
            raise NotLifted("QMNIST with compat=False gives tensors of labels")
        labels = labels[:, 0]
    try:
        pictures = _as_numpy(dataset.data)
        picture = picture_of("image", pictures, layout)
    except (PipelineError, TypeError) as error:
        raise NotLifted(f"the data of {name} has no native form: {error}") from None
    if pictures.ndim == 3 and layout == "nchw":
        raise NotLifted(f"the data of {name} has no channels")
    if pictures.ndim == 4 and picture.shape[1] != 3:
        raise NotLifted(f"the pictures of {name} have {picture.shape[1]} channels")
    direct = _direct_labels(labels, picture.shape[0], name in _AS_THEY_LIE)
    columns = () if direct is None else (column_of("label", direct),)
    rows = len(subsets[0]) if subsets else picture.shape[0]
    description = f"{name} of {rows} pictures in memory{' (a subset)' if subsets else ''}"
    return Arrays(
        columns,
        picture,
        labels if direct is None else None,
        subsets,
        (pictures, direct),
        dataset.transform,
        description,
        name in _AS_THEY_LIE,
    )


def _column(name: str, what: str, tensor: Any) -> Column:
    """A tensor's memory.

    Raises:
        NotLifted: rows of it, stacked, would be something else.
    """
    if type(tensor) is not torch.Tensor:
        raise NotLifted(f"{what} is a {name_of(tensor)}, not a plain torch.Tensor")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise NotLifted(f"{what} is on {tensor.device} or not strided")
    if tensor.requires_grad:
        raise NotLifted(f"{what} requires a gradient")
    if dtype not in DTYPES or tensor.is_neg():
        raise NotLifted(f"{what} is of dtype {dtype}, or a lazy negation")
    if 0 in tensor.shape[1:]:
        raise NotLifted(f"the rows of {what} hold nothing")
    size = tensor.element_size()
    strides = tuple(stride * size for stride in tensor.stride())
    column = Column(name, dtype, tensor.data_ptr(), tuple(tensor.shape), strides)
    if not column.gapless:
        raise NotLifted(f"the rows of {what} are not contiguous")
    return column


def _kept(tensor: torch.Tensor) -> Any:
    """What keeps a tensor's memory where it is: an array does not let its storage be resized."""
    alike = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
    return alike.numpy()


def _as_numpy(data: Any) -> Any:
    import numpy as np

    if isinstance(data, torch.Tensor):
        if type(data) is not torch.Tensor or data.requires_grad:
            raise TypeError(f"it is a {name_of(data)}")
        return data.numpy()
    if type(data) not in (np.ndarray, np.memmap):
        raise TypeError(f"it is a {name_of(data)}")
    return data


def _direct_labels(labels: Any, rows: int, as_they_lie: bool) -> Any:
    """Labels that can be read where they lie, as an array; None for others."""
    import numpy as np

    if type(labels) is torch.Tensor and labels.device.type == "cpu" and not labels.requires_grad:
        labels = labels.numpy() if labels.dtype in _WHOLE else labels
    if type(labels) is not np.ndarray or not labels.dtype.isnative:
        return None
    fits = labels.dtype == np.int64 or (as_they_lie and _are_whole(labels.dtype))
    return labels[:rows] if fits and labels.ndim == 1 and len(labels) >= rows else None


def _are_whole(dtype: Any) -> bool:
    """Whether numbers of this dtype are class numbers; torch takes no scalars of uint64."""
    return dtype.kind in "iu" and dtype.name != "uint64"


def _class_numbers(labels: Any, as_they_lie: bool) -> Any:
    """A copy of other labels, of the dtype that batches have.

    Raises:
        NotLifted: they are no whole numbers, or in something that may give others than it holds.
    """
    import numpy as np

    if type(labels) in (list, tuple):
        if not all(type(label) is int for label in labels):
            raise NotLifted("its labels are not all of type int")
        try:
            return np.array(labels, np.int64)
        except OverflowError:
            raise NotLifted("its labels do not fit 64 bits") from None
    if type(labels) is torch.Tensor and labels.dtype in _WHOLE and labels.device.type == "cpu":
        labels = labels.numpy()
    array = labels if type(labels) in (np.ndarray, np.memmap) else None
    if array is None or array.ndim != 1 or not _are_whole(array.dtype):
        dtype = getattr(labels, "dtype", "unknown")
        raise NotLifted(f"its labels are {name_of(labels)} of dtype {dtype}")
    return array.astype(array.dtype.newbyteorder("=") if as_they_lie else np.int64)
