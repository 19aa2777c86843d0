"""What a generated script writes down about what its loader gave."""

import contextlib
import hashlib
import json
import os
import random
import re
import sys
import traceback
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

_MOST_ERRORS = 12  # of one pass, behind which it is left
_ADDRESS = re.compile(r"0x[0-9a-f]+|\bpid\(?s?\)?[ =:(]*\d+")


class Log:
    """Entries of a kind and a text; ``compare`` says which kinds must be equal, and when.

    Args:
        drawn: the dtypes of leaves that hold random numbers.
        resumes: whether `resumed` goes on from a state where the loader has one.
    """

    def __init__(self, drawn=(), resumes=False):
        self.entries = []
        self.loader = None
        self._drawn = set(drawn)
        self._resumes = resumes
        self._generators = []
        self._rows = []  # of the pass that was looked at last
        self._passes = weakref.WeakKeyDictionary()  # by iterator, the rows of its pass
        self._kept = []
        self._errors = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        if not sys.warnoptions:
            self._warnings = self._stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
        return self

    def __exit__(self, kind, error, _traceback):
        if isinstance(error, Exception):
            self.error(error)
        if not sys.warnoptions:
            for each in self._warnings:
                self.note("warning", f"{each.category.__name__}: {excerpt(each.message)}")
        self._stack.close()
        text = json.dumps(self.entries)
        if "SCRIPT_LOG" in os.environ:
            Path(os.environ["SCRIPT_LOG"]).write_text(text)
        else:
            print(text, flush=True)
        return isinstance(error, Exception)

    def note(self, kind, text):
        """One more entry."""
        self.entries.append([kind, str(text)])

    def watch(self, loader, *generators):
        """A loader that was made, and the user's generators."""
        self.loader = loader
        self._generators = [each for each in generators if each is not None]
        with contextlib.suppress(TypeError):  # a stream without a length
            self.note("text", f"length {len(loader)}")
        self._note_lifted()
        self.rng()

    def begin(self, loader):
        """``iter(loader)``; None where that fails."""
        self._rows, self._errors = [], 0
        self._note_lifted()
        try:
            iterator = iter(loader)
        except Exception as error:
            self.error(error)
            return None
        self._passes[iterator] = self._rows
        self.note("begun", self._states())
        return iterator

    def _note_lifted(self):
        if hasattr(self.loader, "lifted"):
            self.note("fact", f"lifted {bool(self.loader.lifted())}")

    def step(self, iterator):
        """One ``next``: a batch or an error is written down; False at the end."""
        if iterator is None:
            return False
        self._rows = self._passes.get(iterator, self._rows)
        try:
            batch = next(iterator)
        except StopIteration:
            self.note("text", "end")
            return False
        except Exception as error:
            self.error(error)
            self._errors += 1
            return self._errors < _MOST_ERRORS
        self.batch(batch)
        return True

    def rest(self, iterator):
        """All that is left of a pass."""
        while self.step(iterator):
            pass
        self.end()

    def end(self):
        """A whole pass is over."""
        self.note("pass", digest(sorted(self._rows)))
        self.rng()

    def batch(self, batch):
        """One batch."""
        self.note("struct", structure(batch))
        known, drawn = self._digests(batch)
        self.note("known", known)
        self.note("drawn", drawn)
        self.note("mid", self._states())
        self._rows += rows(batch, self._drawn)

    def keep(self, batch):
        """One batch, which `kept` looks at again."""
        self.batch(batch)
        self._kept.append((batch, self._digests(batch)))

    def kept(self):
        """Whether kept batches are still what they were; writes into each behind the look."""
        for number, (batch, before) in enumerate(self._kept):
            self.note("text", f"kept {number}: {self._digests(batch) == before}")
            overwrite(batch)
        self._kept = []

    def _digests(self, batch):
        known, drawn = [], []
        for leaf in leaves(batch):
            (drawn if dtype_of(leaf) in self._drawn else known).append(value(leaf))
        return digest(known), digest(drawn)

    def error(self, error):
        """An exception: type, first and last line, as what stands between names files."""
        self.note("text", f"{type(error).__module__}.{type(error).__qualname__}: {excerpt(error)}")
        frames = traceback.extract_tb(error.__traceback__)
        self.note("fact", f"raised from {frames[-1].filename}:{frames[-1].lineno}")

    @contextlib.contextmanager
    def errors(self):
        """Writes down what the block raises."""
        try:
            yield
        except Exception as error:
            self.error(error)

    def rng(self):
        """The global random states and those of the user's generators, where a pass has an edge."""
        self.note("rng", self._states())

    def _states(self):
        mine = [each.get_state().numpy().tobytes() for each in self._generators]
        words = np.random.get_state()
        everything = [random.getstate(), words[1].tobytes(), words[2:], mine]
        return digest([torch.get_rng_state().numpy().tobytes(), *everything])

    def same(self, first, second):
        """Whether two spans of entries, as `mark` counts them, hold the same batches."""
        spans = [
            [entry for entry in self.entries[slice(*span)] if entry[0] in ("known", "drawn")]
            for span in (first, second)
        ]
        self.note("text", f"the same again: {spans[0] == spans[1]}")

    def mark(self):
        """How many entries there are."""
        return len(self.entries)

    def reloaded(self, loader, make):
        """The loader to go on with: another one of its state, if scripts resume."""
        if not (self._resumes and hasattr(loader, "state_dict")):
            return loader
        state = loader.state_dict()
        with contextlib.suppress(TypeError):  # states of the user's own may be anything
            state = json.loads(json.dumps(state))
        entries, self.entries = self.entries, []
        try:
            again = make(self)
        finally:
            self.entries = entries
        again.load_state_dict(state)
        return again

    def resumed(self, loader, iterator, make, epoch):
        """The same within a pass, and its iterator; global random states are the user's to save.

        Behind the last batch a state is that of the next pass, so this one is gone on with.
        """
        if not (self._resumes and hasattr(loader, "state_dict")):
            return loader, iterator
        if loader.state_dict()["epoch"] != epoch:
            return loader, iterator
        again = self.reloaded(loader, make)
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()
        iterator = iter(again)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        return again, iterator


def excerpt(error):
    """First and last line of a message."""
    lines = _ADDRESS.sub("…", str(error)).strip().splitlines() or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"


def digest(value):
    """Ten hex digits of anything whose ``repr`` tells it from others."""
    return hashlib.blake2b(repr(value).encode(), digest_size=5).hexdigest()


def name_of(value):
    """The type's name, with its module where that is none of the script's."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def structure(value):
    """Types, dtypes, shapes and flags, without the values."""
    if isinstance(value, torch.Tensor):
        flags = [value.requires_grad, value.is_contiguous(), value.layout, value.device.type]
        return f"{name_of(value)}({value.dtype}, {tuple(value.shape)}, {flags})"
    if isinstance(value, np.ndarray):
        return f"ndarray({value.dtype}, {value.shape}, {value.flags.writeable})"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key!r}: {structure(item)}" for key, item in value.items())
        return f"{name_of(value)}{{{inner}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"{name_of(value)}[{', '.join(map(structure, value))}]"
    return name_of(value)


def leaves(value):
    """All that is no container."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        yield from leaves(vars(value))
    else:
        yield value


def dtype_of(leaf):
    """Of a tensor, an array or a scalar."""
    return str(getattr(leaf, "dtype", type(leaf).__name__)).removeprefix("torch.")


def value(leaf):
    """What `digest` may tell from others."""
    if isinstance(leaf, torch.Tensor):
        plain = leaf.detach().resolve_conj().contiguous()
        return plain.view(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    if isinstance(leaf, np.ndarray):
        return repr(leaf.tolist()) if leaf.dtype.hasobject else leaf.tobytes()
    return repr(leaf)


def rows(batch, drawn):
    """A digest per sample of what was not drawn; of the whole batch where it has no samples."""
    columns = [leaf for leaf in leaves(batch) if dtype_of(leaf) not in drawn]
    sizes = {len(each) for each in columns if getattr(each, "ndim", 0) > 0}
    if len(sizes) != 1 or not all(getattr(each, "ndim", 0) > 0 for each in columns):
        return [digest([value(each) for each in columns])]
    return [digest([value(each[row]) for each in columns]) for row in range(sizes.pop())]


def overwrite(batch):
    """Writes into tensors and arrays."""
    for leaf in leaves(batch):
        if isinstance(leaf, torch.Tensor) and not leaf.requires_grad and leaf.numel():
            leaf.zero_()
        elif isinstance(leaf, np.ndarray) and leaf.flags.writeable and leaf.dtype.kind != "O":
            leaf[...] = 0
