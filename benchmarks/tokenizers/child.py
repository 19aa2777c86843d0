"""The child's side of a contestant: it loads a vocabulary, and encodes text when it is asked to.

It runs in the contestant's own environment, and needs nothing of the project's but what stands
beside it. Its only argument says in JSON:

    module       of `_MODULES`, which tokenizer it is
    json         the tokenizer.json, and for tiktoken `ranks`, `pattern` and `special`
    name         of the vocabulary, for quicktok
    cores        it runs on these alone, with a thread for each

The first answer is ``{"load_s"}``. Commands name a `text`, whose documents have NUL between them
unless it is `whole`:

    {"do": "warm", "text": T}     →  {"bytes"}
    {"do": "encode", "text": T}   →  {"bytes", "tokens", "seconds", "cpu_s", "peak_bytes"}
    {"do": "ids", "text": T}      →  {"digests"}, one for each document
"""

from __future__ import annotations

import array
import base64
import gc
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import feed

_WARM_BATCH = 1 << 20  # bytes of text at a time, so that little memory is touched


@dataclass(frozen=True)
class Subject:
    """A tokenizer that was loaded.

    Attributes:
        takes: the kind of its documents.
        encode: documents → their ids, in the form that it likes best.
        rows: what `encode` gave → the ids of each document.
    """

    takes: type[str] | type[bytes]
    encode: Callable[[Sequence[Any]], Any]
    rows: Callable[[Any], Iterable[Sequence[int]]]


def _drapps(spec: dict[str, Any]) -> Subject:
    import drapps

    if not hasattr(drapps, "tokenizer"):
        raise SystemExit("this build has no drapps.tokenizer")
    tokenizer = drapps.tokenizer(spec["json"])
    if not tokenizer.native:
        raise SystemExit(tokenizer.reason)
    encode = partial(tokenizer.encode_batch, threads=len(spec["cores"]))
    return Subject(bytes, encode, lambda encoded: _split(encoded.ids, encoded.offsets))


def _tokenizers(spec: dict[str, Any]) -> Subject:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(spec["json"])
    fast = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)  # gone from 1.0 on
    encode = partial(fast, add_special_tokens=False)
    return Subject(str, encode, lambda encoded: (each.ids for each in encoded))


def _tiktoken(spec: dict[str, Any]) -> Subject:
    import tiktoken

    pairs = (line.split() for line in Path(spec["ranks"]).read_bytes().splitlines())
    encoding = tiktoken.Encoding(
        name=spec["name"],
        pat_str=spec["pattern"],
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in pairs},
        special_tokens=spec["special"],
    )
    return Subject(str, lambda documents: list(map(encoding.encode_ordinary, documents)), iter)


def _gigatoken(spec: dict[str, Any]) -> Subject:
    import gigatoken

    tokenizer = gigatoken.Tokenizer(spec["json"])
    encode = partial(tokenizer.encode_batch, parallel=len(spec["cores"]) > 1)
    return Subject(bytes, encode, lambda encoded: (row.tolist() for row in encoded))


def _quicktok(spec: dict[str, Any]) -> Subject:
    import quicktok

    encoding, threads = quicktok.get_encoding(spec["name"]), len(spec["cores"])
    encode = partial(encoding.encode_batch, threads=threads)
    return Subject(str, encode, lambda encoded: _split(*encoded))


def _split(ids: Any, offsets: Any) -> Iterator[list[int]]:
    for begin, end in pairwise(offsets):
        yield ids[begin:end].tolist()


_MODULES = {
    "drapps": _drapps,
    "tokenizers": _tokenizers,
    "tiktoken": _tiktoken,
    "gigatoken": _gigatoken,
    "quicktok": _quicktok,
}


def begin(spec: dict[str, Any]) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
    """Loads the vocabulary."""
    cores = spec["cores"]
    os.sched_setaffinity(0, cores)
    os.environ["RAYON_NUM_THREADS"] = str(len(cores))
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if len(cores) > 1 else "false"
    __import__(spec["module"])
    began = time.perf_counter()
    subject = _MODULES[spec["module"]](spec)
    return {"load_s": time.perf_counter() - began}, partial(respond, subject)


def respond(subject: Subject, do: str, text: str, whole: bool = False) -> dict[str, Any]:
    """Does what a command asks for."""
    if do == "warm":
        return {"bytes": _warm(subject, Path(text))}
    documents = _documents(subject, Path(text).read_bytes(), whole)
    if do == "ids":
        rows = subject.rows(subject.encode(documents))
        return {"digests": [_digest(row) for row in rows]}
    size = Path(text).stat().st_size - (0 if whole else len(documents) - 1)
    gc.collect()
    gc.disable()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _memory("VmRSS")
    cpu, began = time.process_time(), time.perf_counter()
    encoded = subject.encode(documents)
    ended, cpu_ended = time.perf_counter(), time.process_time()
    peak = _memory("VmHWM") - before
    gc.enable()
    return {
        "bytes": size,
        "tokens": sum(len(row) for row in subject.rows(encoded)),
        "seconds": ended - began,
        "cpu_s": cpu_ended - cpu,
        "peak_bytes": peak,
    }


def _warm(subject: Subject, text: Path) -> int:
    """Encodes a whole text and forgets the ids."""
    data = text.read_bytes()
    place = 0
    while place < len(data):
        end = data.find(b"\0", place + _WARM_BATCH)
        end = end if end >= 0 else len(data)
        subject.encode(_documents(subject, data[place:end], whole=False))
        place = end + 1
    return len(data)


def _documents(subject: Subject, data: bytes, whole: bool) -> list[Any]:
    documents = [data] if whole else data.split(b"\0")
    if subject.takes is bytes:
        return documents
    return [document.decode("utf-8", "replace") for document in documents]


def _digest(row: Sequence[int]) -> str:
    return hashlib.sha256(array.array("I", row).tobytes()).hexdigest()[:16]


def _memory(what: str) -> int:
    match = re.search(rf"^{what}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    assert match is not None
    return int(match[1]) * 1024


if __name__ == "__main__":
    feed.converse(begin)
