"""Which stage of loading a piece of code belongs to, by its file and its name.

What waits for bytes, in no stage or while it decodes, is storage; see `frames.py`.
"""

from __future__ import annotations

import re

STORAGE, DECODE, TRANSFORM, COLLATE = "storage", "decode", "transform", "collate"
HANDOVER, TRANSFER, DATASET = "hand-over", "transfer", "dataset"
STAGES = (STORAGE, DECODE, TRANSFORM, COLLATE, HANDOVER, TRANSFER, DATASET)

# Parts of the paths of libraries; the first that fits is taken.
_FILES = (
    ("torch/utils/data/_utils/collate", COLLATE),
    ("torch/utils/data/_utils/pin_memory", TRANSFER),
    ("torch/multiprocessing/reductions", HANDOVER),
    ("torch/storage", HANDOVER),
    ("multiprocessing/", HANDOVER),
    ("drapps/accelerate/resiz", TRANSFORM),
    ("drapps/accelerate/crop", TRANSFORM),
    ("drapps/accelerate/normaliz", TRANSFORM),
    ("drapps/accelerate/scal", TRANSFORM),
    ("drapps/accelerate/", DECODE),
    ("torchvision/io", DECODE),
    ("torchvision/transforms", TRANSFORM),
    ("PIL/ImageOps", TRANSFORM),
    ("PIL/ImageEnhance", TRANSFORM),
    ("PIL/ImageFilter", TRANSFORM),
    ("PIL/ImageFile", DECODE),
    ("PIL/JpegImagePlugin", DECODE),
    ("PIL/PngImagePlugin", DECODE),
    ("PIL/WebPImagePlugin", DECODE),
    ("albumentations/", TRANSFORM),
    ("kornia/", TRANSFORM),
    ("imgaug/", TRANSFORM),
    ("timm/data", TRANSFORM),
    ("tokenizers/", TRANSFORM),
    ("transformers/tokenization", TRANSFORM),
    ("soundfile", DECODE),
    ("torchaudio/", DECODE),
    ("librosa/", DECODE),
    ("h5py/", STORAGE),
    ("zarr/", STORAGE),
    ("pyarrow/", STORAGE),
    ("fsspec/", STORAGE),
    ("s3fs/", STORAGE),
    ("gcsfs/", STORAGE),
    ("botocore/", STORAGE),
    ("urllib", STORAGE),
    ("requests/", STORAGE),
    ("http/client", STORAGE),
    ("socket.py", STORAGE),
    ("ssl.py", STORAGE),
    ("tarfile.py", STORAGE),
    ("zipfile", STORAGE),
    ("numpy/lib/_npyio", STORAGE),
    ("numpy/lib/npyio", STORAGE),
)
_WORDS = {
    STORAGE: "read open fetch download recv readinto pread urlopen bytes storage io request",
    DECODE: "decode decoded decoder imread imdecode decompress parse unpickle loads",
    TRANSFORM: "transform transforms augment augmentation crop resize flip normalize normalise "
    "blur jitter rotate tokenize tokenise preprocess filter warp pad mixup op ops",
    COLLATE: "collate stack collator",
}
_STAGE_OF_WORD = {word: stage for stage, words in _WORDS.items() for word in words.split()}
_SPLIT = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_NAME = re.compile(r"[A-Za-z_][\w.]*$")


def stage_of_file(path: str) -> str | None:
    """The stage of a library's file."""
    return next((stage for part, stage in _FILES if part in path), None)


def stage_of_name(name: str) -> str | None:
    """The stage of a function, ``Class.method`` or ``module.f``, by its last word that tells."""
    for word in reversed(_SPLIT.split(name)):
        stage = _STAGE_OF_WORD.get(word.lower())
        if stage is not None:
            return stage
    return None


def stage_of_call(text: str) -> str | None:
    """The stage of a call as it is written, ``Image.open(path)``, by the name of what is called."""
    match = _NAME.search(_before_arguments(text.strip()))
    if match is None:
        return None
    called = match[0]
    if called.endswith("Image.open"):  # it parses a header alone
        return DECODE
    if called.endswith((".sleep", ".join", ".get", ".format", ".encode")):
        return None
    return stage_of_name(called.rpartition(".")[2]) or stage_of_name(called)


def _before_arguments(text: str) -> str:
    """The part ``open(path).convert`` of ``open(path).convert("RGB")``; empty for no call."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            return text[:at].rstrip()
    return ""
