"""What became of a user's loader: lifted or not, what of it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report


@dataclass(frozen=True, eq=False, repr=False)
class LiftReport(Report):
    """The answer of ``DataLoader.lifted()``; true where the native path runs.

    Attributes:
        native: the native path runs; otherwise the dataset's own Python code does.
        reasons: why not, one sentence each; empty where `native`.
        dataset: what the dataset was recognised as; empty where it was not.
        transforms: the transforms that became native ops, in order, as the user wrote them.
        order: where the order of the samples comes from; empty where not `native`.
        pillow_order: the order of the two resize passes that is matched, which is the installed
            Pillow's; empty where no picture is resized.
        torch_resizes: the arithmetics in which tensors are resized, as by the installed torch.
        cache: what is kept of the files from epoch to epoch; empty where nothing lies in files.
        notes: what else differs from the stock loader.
        pictures: of Python code: how many were decoded natively, and how many by Pillow and why;
            empty before the first, and where nothing is to be said.
    """

    native: bool
    reasons: tuple[str, ...] = ()
    dataset: str = ""
    transforms: tuple[str, ...] = ()
    order: str = ""
    pillow_order: str = ""
    notes: tuple[str, ...] = ()
    torch_resizes: tuple[str, ...] = ()
    cache: str = ""
    pictures: str = ""

    @property
    def why_python(self) -> str:
        """Why there is no native loader, whose states and records are of another kind."""
        return self.reasons[0] if self.reasons else "text is lifted batch by batch, in its place"

    def __bool__(self) -> bool:
        return self.native

    def __str__(self) -> str:
        if self.native:
            lines = [f"lifted: {self.dataset}"]
            lines += [f"  native: {transform}" for transform in self.transforms]
            lines.append(f"  order: {self.order}")
            if self.pillow_order:
                lines.append(f"  resize passes: {self.pillow_order}, as the installed Pillow")
            if self.torch_resizes:
                ways = " and ".join(self.torch_resizes)
                lines.append(f"  resized tensors: {ways}, as the installed torch")
            if self.cache:
                lines.append(f"  cache: {self.cache}")
        else:
            lines = ["not lifted: the dataset's own Python code runs"]
            lines += [f"  because {reason}" for reason in self.reasons]
            if self.pictures:
                lines.append(f"  Python dataset: {self.pictures}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def stock_report(loader: Any, reason: str) -> LiftReport:
    """The report of a loader that runs Python code because of `reason`."""
    return LiftReport(native=False, reasons=(reason,), notes=unused(loader))


def unused(loader: Any) -> tuple[str, ...]:
    """Notes on the options that a loader without a native one does not use."""
    return tuple(
        f"{name} is not used"
        for name, used in (
            ("on_error", loader.on_error == "raise"),
            ("seed", loader.seed is None or not loader.torch_order),
            ("cpu_budget", loader.cpu_budget is None or loader.num_workers > 0),
            ("ram_budget", loader.ram_budget is None),
            ("cache", loader.cache in ("auto", "off")),
            ("form", loader.form == "auto"),
            ("bad_samples_file", loader.bad_samples_file is None),
        )
        if not used
    )
