"""What a loader runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from drapps.accelerate.tally import described
from drapps.report.base import Report, mib, page


@dataclass(frozen=True, eq=False, repr=False)
class Column(Report):
    """A tensor of every batch, whose first axis is the rows.

    Attributes:
        name: of the tensor.
        dtype: of its numbers, such as ``float32``.
        row_shape: the axes behind the first, as a list.
        row_bytes: memory of one row.
        axes: where batches differ in shape, how many axes the tensor has; `row_shape` and
            `row_bytes` are then the most that it may take. Else None.
    """

    name: str
    dtype: str
    row_shape: Sequence[int]
    row_bytes: int
    axes: int | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}{list(self.row_shape) if self.row_shape else ''}"


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Report):
    """What runs, on what. What is None for some loaders says so.

    Attributes:
        path: ``native``; ``text`` where batches of text are made natively, one at a time; or
            ``python`` where the dataset's own code runs.
        budget: in force: ``cpus`` in cores, ``ram_bytes``.
        machine: what it gives this process: ``cpus`` in cores, ``memory_bytes``, ``local_ranks``.
        shortages: what there is less of than wanted because the system gave no more, a sentence
            each.
        settings: the knobs as they stand; what ``export_settings()`` gives. None where no worker
            process has started.
        first_batch: seconds of the time up to the first batch of the latest pass, by what they
            were spent on; None before.
        spec: native: the whole description, with every default.
        stages: native: what the decoder makes, then what each op makes, ``op``, ``channels``,
            ``height``, ``width``; ``fixed_size`` is false, and the size 0, where it varies without
            a bound. Of packed text ``op`` and what it works with.
        columns: native: the tensors of a batch.
        batch_bytes: native: memory of one batch.
        lanes: native: the lanes of either mode, ``fused`` and ``split``.
        weights: native: what lane weights say, ``share`` or ``cap``.
        placement: native: where pictures are decoded, ``placement`` and ``device``; how many a
            device has ``decoded``, how many the cache had decoded (``from_cache``), how many of
            both were ``augmented``, of how many the rows ``stayed`` there, and how many were
            ``returned`` for the CPU; ``not_augmented``, why it makes no rows of them, and
            ``unused``, why it does nothing at all.
        arrival: native: how the batches of a pass with a ``device`` get there: ``copied`` as
            ``bytes``, which are normalised there, or ``finished``, and ``why`` no bytes; None
            before there was one.
        reasons: Python: why it is not native, a sentence each.
        virtual_workers: Python: what `num_workers` counts.
        processes: Python: worker processes, or threads, behind them.
        start_method: Python: ``fork``, ``forkserver``, ``spawn`` or ``thread``.
        bound: Python: every virtual worker stays with its process.
        own_state: Python: what keeps a state of its own from sample to sample.
        stolen_by: Python: what an idle process takes over: ``sample``, ``batch``, or ``nobody``.
        shared_lists: Python: lists of the dataset that all processes share.
        slowest: Python: the slowest samples of living processes, ``[seconds, position]`` each.
        pictures: Python: JPEG files that the dataset has read with Pillow and its like, by what
            became of them: ``native``, ``resized`` (of those), ``by_opencv``,
            ``by_torchvision``, or the reason why Pillow decodes them.
    """

    path: str
    budget: Mapping[str, Any]
    machine: Mapping[str, Any]
    shortages: Sequence[str]
    settings: Mapping[str, Any] | None = None
    first_batch: Mapping[str, float] | None = None
    spec: Mapping[str, Any] | None = None
    stages: Sequence[Mapping[str, Any]] | None = None
    columns: Sequence[Column] | None = None
    batch_bytes: int | None = None
    lanes: Mapping[str, Sequence[str]] | None = None
    weights: str | None = None
    placement: Mapping[str, Any] | None = None
    arrival: Mapping[str, Any] | None = None
    reasons: Sequence[str] | None = None
    virtual_workers: int | None = None
    processes: int | None = None
    start_method: str | None = None
    bound: bool | None = None
    own_state: Sequence[str] | None = None
    stolen_by: str | None = None
    shared_lists: Sequence[str] | None = None
    slowest: Sequence[Sequence[float]] | None = None
    pictures: Mapping[str, int] | None = None

    _OLD_KEYS: ClassVar[Mapping[str, str]] = {"engine": "path"}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Plan:
        """The plan, as the core or the worker processes say it."""
        columns = [Column.from_json(column) for column in facts.get("columns", ())]
        return super().from_json({**facts, **({"columns": columns} if "columns" in facts else {})})

    def rows(self) -> Iterator[tuple[str, str]]:
        """What is printed of it: names, and what is said of each."""
        yield from self._work()
        knobs = {} if self.settings is None else self.settings["knobs"]
        workers = str(knobs.get("workers", "none running"))
        if self.processes is not None:
            kind = "threads" if self.start_method == "thread" else f"{self.start_method} processes"
            workers = f"{self.processes} {kind} for {self.virtual_workers} virtual workers"
        cpus, there = self.budget["cpus"], self.machine["cpus"]
        yield "workers", f"{workers}; a budget of {cpus:g} cores, of {there:g} in the machine"
        if "prefetch_depth" in knobs:
            yield "depth", f"{knobs['prefetch_depth']} batches, {knobs['io_depth']} reads ahead"
        if self.lanes is not None and self.settings is not None:
            mode = "fused" if knobs["fused"] else "split"
            weights = self.settings["lane_weights"]
            lanes = [
                f"{name} {weights[name]}" if mode == "split" and name in weights else name
                for name in self.lanes[mode]
            ]
            yield "lanes", f"{mode}: {', '.join(lanes)}"
        yield from self._placed()
        yield from self._arriving()
        if self.own_state:
            yield "own state", ", ".join(self.own_state)
        if self.pictures:
            yield "pictures", described(self.pictures)
        if self.first_batch is not None:
            parts = [
                f"{name.removesuffix('_s')} {s * 1e3:.1f} ms"
                for name, s in self.first_batch.items()
            ]
            yield "first batch", ", ".join(parts)
        yield from (("short of", each) for each in self.shortages)

    def _placed(self) -> Iterator[tuple[str, str]]:
        there = {"placement": "cpu"} if self.placement is None else self.placement
        if there["placement"] == "cpu":
            return
        text = f"{there['placement']} on {there['device']}"
        if "decoded" in there:
            text += f": {there['decoded']} samples decoded there, {there['augmented']} augmented"
        yield "placement", text
        if "not_augmented" in there:
            yield "", f"augmented on the CPU: {there['not_augmented']}"
        if "unused" in there:
            yield "", f"all on the CPU: {there['unused']}"

    def _arriving(self) -> Iterator[tuple[str, str]]:
        if self.arrival is None:
            return
        there = self.arrival["device"]
        if self.arrival["copied"] == "bytes":
            yield "arrival", f"pictures are copied to {there} as bytes, and finished there"
        else:
            yield "arrival", f"batches are copied to {there} as they are"
        if "why" in self.arrival:
            yield "", f"no bytes: {self.arrival['why']}"

    def _work(self) -> Iterator[tuple[str, str]]:
        if self.path == "native":
            yield "runs", "native code"
        if self.path == "text":
            yield "runs", "native code, a batch of text at a time"
        for reason in self.reasons or ():
            yield "runs", f"Python code, because {reason}"
        for stage in self.stages or ():
            yield "", f"{stage['op']}: {_stage(stage)}"
        if self.columns is not None and self.batch_bytes is not None:
            yield "batch", f"{mib(self.batch_bytes)}: {', '.join(map(str, self.columns))}"

    def __str__(self) -> str:
        return page(self.rows())


def _stage(stage: Mapping[str, Any]) -> str:
    """What a stage makes: pictures of a size, or what else it says of itself."""
    if "height" in stage:
        size = f"{stage['height']} x {stage['width']}" if stage["height"] else "any size"
        return f"{size}, channels: {stage['channels']}"
    return ", ".join(f"{name} {value}" for name, value in stage.items() if name != "op")
