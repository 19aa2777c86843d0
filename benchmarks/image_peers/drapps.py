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
from benchmarks.image_peers.peer import Peer, listing, run
from drapps import _core

_WARM_EPOCHS = 2


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
        self._loader = _loader(spec)
        self._pass: Any = iter(self._loader)
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
        """Batches as torch tensors.

        Beyond the first batch, which is timed on its own, a loader of the later variants goes
        through whole epochs before it gives another one.
        """
        learning = 0 if self.spec["variant"] == "first" else _WARM_EPOCHS
        begun = False
        while True:
            for batch in self._pass:
                if learning and begun:
                    continue
                begun = True
                tensors = batch.torch()
                yield tensors["image"], tensors["label"]
            if learning:
                learning -= 1
                index = self._loader.explain()["forms"]["jpeg_index"]
                self.notes["index_coverage"].append(index["coverage"])
            if self.spec["variant"] == "first":
                self._loader = _loader(self.spec)
            self._pass = iter(self._loader)

    def close(self) -> None:
        """Ends the pass."""
        self._pass.close()


if __name__ == "__main__":
    run(DrappsPeer)
