"""Contestant: DRAPPS, at three stages of what it knows about the files.

first           nothing: every epoch is a loader's first
warm            the index that earlier epochs have left
coefficients    the files' lossless coefficient form
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch  # noqa: F401  (imported before any clock starts, as the stock loader's is)

import drapps
from benchmarks.image_cpu.epochs import Epochs
from benchmarks.image_peers.peer import Peer, listing, run
from drapps import _core


def _loader(spec: dict[str, Any]) -> drapps.Loader:
    return (
        drapps.image_folder(spec["store" if spec["variant"] == "coefficients" else "root"])
        .random_resized_crop(
            spec["crop"], spec["scale"], spec["ratio"], pass_order=spec["pass_order"]
        )
        .flip(spec["flip"])
        .normalize(spec["mean"], spec["std"])
        .shuffle(spec["seed"])
        .batch(spec["batch"])
    )


class DrappsPeer(Peer):
    """See `Peer`; `variant` is one of the above."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        stage = "first" if spec["variant"] == "first" else "warm"
        self._epochs = Epochs(lambda: _loader(spec), stage)
        self.notes: dict[str, Any] = {"index_coverage": []}  # after each epoch before the measured

    @classmethod
    def prepare(cls, spec: dict[str, Any]) -> None:
        """Writes each photograph once in the coefficient form, if asked for; copies are links."""
        if spec["variant"] != "coefficients":
            return
        store = Path(spec["store"])
        stamp = store.with_suffix(".stamp")
        made_by = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
        if stamp.is_file() and stamp.read_text() == made_by:
            return
        stamp.unlink(missing_ok=True)
        shutil.rmtree(store, ignore_errors=True)
        files = [Path(file) for file in listing(spec)[0]]
        once = len(files) // spec["copies"]
        forms = [store / file.parent.name / f"{file.stem}.djc" for file in files]
        for number, (file, form) in enumerate(zip(files, forms, strict=True)):
            form.parent.mkdir(parents=True, exist_ok=True)
            if number < once:
                form.write_bytes(drapps.transcode(file.read_bytes()))
            else:
                form.hardlink_to(forms[number % once])
        stamp.write_text(made_by)

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as torch tensors."""
        for batch in self._epochs.batches(self._note_coverage):
            tensors = batch.torch()
            yield tensors["image"], tensors["label"]

    def _note_coverage(self, loader: drapps.Loader) -> None:
        index = loader.explain()["forms"]["jpeg_index"]
        self.notes["index_coverage"].append(index["coverage"])

    def close(self) -> None:
        """Ends the pass."""
        self._epochs.current.close()


if __name__ == "__main__":
    run(DrappsPeer)
