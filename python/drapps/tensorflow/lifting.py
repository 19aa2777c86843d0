"""A ``tf.data`` pipeline, run natively where its bytes come out the same.

1. TensorFlow writes the pipeline as a graph; `stages` reads from it the list of samples, the
   functions that each goes through, and how they are shuffled and batched.
2. `function` follows these functions operation by operation: what becomes of the sample's fields,
   where the picture is read from, which part of it is left (for every size that there is), and
   which pointwise operations its values go through.
3. Those are read off: the user's own pipeline is run on a picture that holds all 256 values of
   every channel. The table that comes out is the native path's arithmetic. (Computing it from the
   operations would not do: TensorFlow folds constants into one another in one graph and not in
   the next, which changes the last bit.)
4. What a sample has beside its picture is computed by TensorFlow, once for each, and gathered.
5. Before anything is handed out, the first samples are made by both and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from drapps import ops
from drapps.errors import PipelineError, SampleError
from drapps.loader import Loader
from drapps.ops import Op
from drapps.resources import Resources
from drapps.source import Source, file_source
from drapps.spec import Decode, Sampler, Spec, Tensor
from drapps.tensorflow.function import Field, Functions
from drapps.tensorflow.lengths import holds_length
from drapps.tensorflow.levels import levels_of
from drapps.tensorflow.picture import Picture, Rule, rule_of
from drapps.tensorflow.report import LiftReport, NotLifted
from drapps.tensorflow.source import dataset as dataset_of
from drapps.tensorflow.stages import Stages, stages_of

COMPARED = 3  # samples that both paths make before the native one is trusted


@dataclass(frozen=True, eq=False)
class Lifted:
    """What `lift` made of a dataset.

    Attributes:
        dataset: of the same elements as the user's; the user's own where nothing was lifted.
        report: whether it was, and why not.
        loader: what runs natively, for ``explain()`` and its like; None where nothing was lifted.
    """

    dataset: tf.data.Dataset
    report: LiftReport
    loader: Loader | None


def lift(dataset: tf.data.Dataset, cpu_budget: float | None = None) -> Lifted:
    """Runs a ``tf.data`` pipeline of files natively, where that gives the same bytes.

    It must be a list of files (``from_tensor_slices``, ``list_files``), ``map`` functions that
    read one and decode it by ``decode_jpeg(channels=3, dct_method="INTEGER_ACCURATE")``, crop it at
    a fixed place or in the middle, flip it, and compute with its values one by one, and ``batch``;
    with ``shuffle`` over all samples, ``cache``, ``prefetch`` and, behind ``batch``, ``repeat``.
    Anything else stays with TensorFlow, and the report names it.

    Args:
        dataset: the pipeline up to and with ``batch``; go on from the result.
        cpu_budget: the most cores to use; those that this process may use where absent.
    """
    try:
        stages = stages_of(dataset)
        followed = _follow(stages, dataset)
        loader = _loader(stages, followed, cpu_budget)
        _compare(stages, followed)
        native_dataset = _dataset(stages, followed, loader, dataset)
    except NotLifted as reason:
        return Lifted(dataset, LiftReport(native=False, reasons=(str(reason),)), None)
    return Lifted(native_dataset, _report(stages, followed), loader)


@dataclass(frozen=True, eq=False)
class Followed:
    """What the functions of a pipeline do.

    Attributes:
        outputs: of the last one, flat: the picture, and arrays of a value for each sample.
        paths: the files.
        ops: of the native pipeline.
        tensor: its ``tensor`` part.
        lifted: for the report.
    """

    outputs: tuple[Any, ...]
    paths: list[bytes]
    ops: list[Op]
    tensor: Tensor
    lifted: tuple[str, ...]


def _follow(stages: Stages, dataset: tf.data.Dataset) -> Followed:
    functions = Functions(stages.library)
    values: list[Any] = [_column(column) for column in stages.columns]
    for each in stages.maps:
        values = functions.call(each.function, [*values, *each.captured])
    pictures = [value for value in values if isinstance(value, Picture)]
    specs = tf.nest.flatten(dataset.element_spec)
    if len(pictures) != 1 or functions.path is None or len(specs) != len(values):
        raise NotLifted(f"an element has {len(pictures)} pictures, not one")
    [picture] = pictures
    if picture.batched:
        raise NotLifted("a picture has four axes")
    place = next(i for i, value in enumerate(values) if value is picture)
    outputs = tuple(_output(value, len(stages.columns[0])) for value in values)
    rules = [
        rule_of(window, fails, name)
        for window, fails, name in zip(
            picture.windows, functions.fails, ("height", "width"), strict=True
        )
    ]
    moves = [_crop(*rules), *_flips(*(window.mirrored for window in picture.windows))]
    levels = levels_of(stages, picture, place, rules) if picture.computed else None
    return Followed(
        outputs=outputs,
        paths=_paths(functions.path),
        ops=moves,
        tensor=_tensor(picture, levels),
        lifted=(functions.lifted[0], *map(_described, moves), *functions.lifted[1:]),
    )


def _column(column: np.ndarray[Any, Any]) -> Field:
    return Field(lambda: column)


def _output(value: Any, count: int) -> Any:
    if isinstance(value, Picture):
        return value
    if isinstance(value, Field):
        return value.table()
    if isinstance(value, np.ndarray) and not holds_length(value):
        return np.broadcast_to(value, (count, *value.shape))
    raise NotLifted("an element holds the size or the bytes of a picture")


def _paths(field: Field) -> list[bytes]:
    paths = [bytes(path) for path in field.table().reshape(-1)]
    for path in paths:
        if b"://" in path:
            raise NotLifted(f"{path.decode(errors='replace')} is no file of this machine")
    return paths


def _crop(rows: Rule, columns: Rule) -> Op:
    size = (rows.size, columns.size)
    if rows.begin is not None and columns.begin is not None:
        return ops.crop(rows.begin, columns.begin, size)
    if rows.begin is None and columns.begin is None and rows.pad == columns.pad:
        return ops.center_crop_as_tensorflow(size, rows.pad)
    raise NotLifted("height and width are cropped by different rules")


def _flips(vertical: bool, horizontal: bool) -> list[Op]:
    flips = ((ops.vertical_flip, vertical), (ops.horizontal_flip, horizontal))
    return [flip(1.0) for flip, mirrored in flips if mirrored]


def _described(op: Op) -> str:
    fields = ", ".join(f"{name}={value}" for name, value in op.items() if name != "op")
    return f"{op['op']}({fields})"


def _tensor(picture: Picture, levels: np.ndarray[Any, Any] | None) -> Tensor:
    plain = Tensor(picture.dtype.name, "nhwc", scale=False, mean=None, std=None)
    if levels is None:
        return plain
    if picture.dtype not in (tf.float32, tf.bfloat16):
        raise NotLifted(f"computed values end as {picture.dtype.name}, not as float32 or bfloat16")
    if not np.isfinite(levels).all():
        raise NotLifted("a byte becomes a number that is not finite")
    return replace(plain, table=levels.T.reshape(-1).tolist())


def _spec(stages: Stages, followed: Followed) -> Spec:
    shuffle = stages.shuffle
    return Spec(
        decode=Decode(depth="scale", cmyk="tensorflow"),  # as decode_jpeg, which reads PNG too
        ops=followed.ops,
        tensor=followed.tensor,
        sampler=Sampler(
            shuffle=shuffle is not None,
            seed=shuffle.seed if shuffle else 0,
            batch=stages.batch,
            remainder="drop" if stages.drop_last else "even",
        ),
    )


def _loader(stages: Stages, followed: Followed, cpu_budget: float | None) -> Loader:
    count = len(followed.paths)
    if stages.shuffle is not None and stages.shuffle.buffer < count:
        raise NotLifted(
            f"shuffle({stages.shuffle.buffer}) of {count} samples keeps neighbours together; "
            f"shuffle({count}) can be lifted"
        )
    return _native_loader(
        file_source(followed.paths), _spec(stages, followed), Resources(cpu_budget=cpu_budget)
    )


def _native_loader(source: Source, spec: Spec, resources: Resources) -> Loader:
    try:
        return Loader(source, spec, resources)
    except PipelineError as error:
        raise NotLifted(f"the native path refuses it: {error}") from None


def _compare(stages: Stages, followed: Followed) -> None:
    """Makes the first samples both ways.

    Raises:
        NotLifted: they differ, or one of the two cannot make them.
    """
    count = min(COMPARED, len(followed.paths))
    spec = _spec(stages, followed)
    spec = replace(spec, sampler=Sampler(seed=spec.sampler.seed))
    loader = _native_loader(file_source(followed.paths[:count]), spec, Resources())
    try:
        theirs = stages.samples(count)
        batches = zip(dataset_of(loader, ("image",)), theirs, strict=True)
        for index, ((mine,), sample) in enumerate(batches):
            for output, value in zip(followed.outputs, sample, strict=True):
                tensor = mine[0] if isinstance(output, Picture) else tf.constant(output[index])
                if not _same(tensor, value):
                    raise NotLifted(f"sample {index} comes out differently: please report this")
    except (tf.errors.OpError, SampleError) as error:
        text = str(error).partition("\n")[0]
        raise NotLifted(f"one of the first {count} samples cannot be made: {text}") from None


def _same(one: tf.Tensor, other: tf.Tensor) -> bool:
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype == tf.string:
        return bool(tf.reduce_all(one == other))
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def _dataset(
    stages: Stages, followed: Followed, loader: Loader, like: tf.data.Dataset
) -> tf.data.Dataset:
    """The native batches in the structure of the user's."""
    tables = [
        None if isinstance(value, Picture) else tf.constant(value) for value in followed.outputs
    ]

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def arrange(image: tf.Tensor, index: tf.Tensor) -> Any:
        flat = [image if table is None else tf.gather(table, index) for table in tables]
        return tf.nest.pack_sequence_as(like.element_spec, flat)

    batches = dataset_of(loader, ("image", "index")).map(arrange)
    if stages.prefetches:
        batches = batches.prefetch(tf.data.AUTOTUNE)
    if stages.repeat != 1:
        batches = batches.repeat(stages.repeat)
    return batches.with_options(like.options())


def _report(stages: Stages, followed: Followed) -> LiftReport:
    order = "as listed"
    notes: Sequence[str] = ()
    if stages.shuffle is not None:
        order = f"shuffled, seed {stages.shuffle.seed}"
        notes = ("the order is DRAPPS' own: all samples once, each epoch in another order",)
    return LiftReport(
        native=True,
        source=f"{len(followed.paths)} files",
        operations=(*followed.lifted, f"batch({stages.batch}, drop_remainder={stages.drop_last})"),
        order=order,
        notes=tuple(notes),
    )
