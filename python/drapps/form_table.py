"""What each form of the cache makes of a folder of pictures, and which of them would serve best."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drapps import _core
from drapps.errors import PipelineError, SampleError
from drapps.form_files import leads_back
from drapps.source import EXTENSIONS


@dataclass(frozen=True)
class FormRow:
    """One form, over the files of a class: means of what was tried.

    Attributes:
        form: its name, as a loader's ``form`` has it.
        holds: the share of the files that it can hold; the others are kept as bytes.
        bytes: that a file takes in it.
        ratio: of those to the bytes of the file.
        make_us: CPU microseconds to make it of the file.
        whole_us: CPU microseconds from there to all pixels.
        region_us: CPU microseconds to the half of them in the middle.
        error: the largest difference of a pixel to those of the file.
    """

    form: str
    holds: float
    bytes: float
    ratio: float
    make_us: float
    whole_us: float
    region_us: float
    error: int


@dataclass(frozen=True)
class FileClass:
    """Files that forms treat alike.

    Attributes:
        name: ``jpeg``, ``jpeg, not baseline``, ``png``, ``png, 16 bits``, …
        files: how many of those that were tried are of it.
        bytes: of one of them, in the mean.
        height, width: of one of them, in the mean.
        forms: what each form makes of them.
    """

    name: str
    files: int
    bytes: float
    height: float
    width: float
    forms: tuple[FormRow, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain dictionaries."""
        return asdict(self)


@dataclass(frozen=True)
class FormEstimate:
    """What a form would come to.

    Attributes:
        form: its name.
        kept: the share of the records that the budget holds in it.
        rate: samples per second that storage and CPU allow.
        limit: which of the two allows no more: ``storage`` or ``cpu``.
    """

    form: str
    kept: float
    rate: float
    limit: str


@dataclass(frozen=True)
class FormTable:
    """What was measured of a folder.

    Attributes:
        files: pictures in the folder.
        bytes: of all of them.
        classes: what forms make of them, by class.
        all: the same over all that were tried.
        failed: files that could not be tried, and why.
    """

    files: int
    bytes: int
    classes: tuple[FileClass, ...]
    all: FileClass
    failed: tuple[tuple[str, str], ...]

    def estimates(self, budget: float, bandwidth: float, cores: float) -> list[FormEstimate]:
        """All forms, the best first.

        A pass takes the longer of two times: that of storage for what is not kept, and that of the
        cores for decoding, of the middle of each picture, what is kept and what is not. Training,
        and what comes behind decoding, are not in it.

        Args:
            budget: bytes of the cache.
            bandwidth: bytes per second that storage gives.
            cores: how many decode.
        """
        plain = self.all.forms[0]
        estimates = []
        for row in self.all.forms:
            kept = min(1.0, budget / (row.bytes * self.files)) if self.files else 0.0
            reads = (1 - kept) * self.all.bytes / bandwidth
            work = (kept * row.region_us + (1 - kept) * plain.region_us) * 1e-6 / cores
            limit = "storage" if reads > work else "cpu"
            estimates.append(FormEstimate(row.form, kept, 1 / max(reads, work, 1e-9), limit))
        return sorted(estimates, key=lambda each: -each.rate)


def table_of(
    folder: Path, most: int, times: int, progress: Callable[[int, int], None]
) -> FormTable:
    """Tries every form on some of a folder's pictures, evenly spread over all.

    Args:
        folder: of pictures, at any depth.
        most: how many are tried.
        times: how often each is; the least time counts.
        progress: is told how many are done, of how many.

    Raises:
        PipelineError: there is no picture, or none that can be read.
    """
    pictures = sorted(_pictures(folder))
    if not pictures:
        raise PipelineError(f"{folder}: there is no picture ({', '.join(EXTENSIONS)}) in it")
    count = min(most, len(pictures))
    chosen = [pictures[i * len(pictures) // count] for i in range(count)]
    trials: list[tuple[str, dict[str, Any]]] = []
    failed: list[tuple[str, str]] = []
    for done, path in enumerate(chosen, 1):
        try:
            trial = _core.try_forms(path.read_bytes(), times)
            trials.append((_class_of(trial), trial))
        except _core.SampleError as error:
            failed.append((str(path), SampleError(*error.args).message))
        except OSError as error:
            failed.append((str(path), error.strerror or str(error)))
        progress(done, count)
    if not trials:
        raise PipelineError(f"{failed[0][0]}: {failed[0][1]}; and none of the others can be read")
    names = sorted({name for name, _ in trials})
    classes = tuple(_summed(name, [each for at, each in trials if at == name]) for name in names)
    whole = _summed("all", [trial for _, trial in trials])
    total = sum(path.stat().st_size for path in pictures)
    return FormTable(len(pictures), total, classes, whole, tuple(failed))


def _pictures(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    for root, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = [name for name in folders if not leads_back(Path(root, name))]
        yield from (Path(root, name) for name in names if name.lower().endswith(EXTENSIONS))


def _class_of(trial: Mapping[str, Any]) -> str:
    name = str(trial["format"])
    holds = {form["form"]: form["holds"] for form in trial["forms"]}
    if name == "jpeg" and not holds["coefficients"]:
        name += ", not baseline"
    return name if trial["depth"] <= 8 else f"{name}, {trial['depth']} bits"


def _summed(name: str, trials: Sequence[Mapping[str, Any]]) -> FileClass:
    def mean(numbers: Sequence[float]) -> float:
        return sum(numbers) / len(numbers)

    size = mean([trial["bytes"] for trial in trials])
    rows = []
    for same in zip(*(trial["forms"] for trial in trials), strict=True):
        taken = mean([form["bytes"] for form in same])
        rows.append(
            FormRow(
                form=same[0]["form"],
                holds=mean([float(form["holds"]) for form in same]),
                bytes=taken,
                ratio=taken / size,
                make_us=mean([form["make_ns"] / 1000 for form in same]),
                whole_us=mean([form["whole_ns"] / 1000 for form in same]),
                region_us=mean([form["region_ns"] / 1000 for form in same]),
                error=max(form["error"] for form in same),
            )
        )
    height, width = (mean([trial[side] for trial in trials]) for side in ("height", "width"))
    return FileClass(name, len(trials), size, height, width, tuple(rows))
