"""The loader that a `Pipeline` ends in: iterate it, once per epoch."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from drapps import _core, state
from drapps.adapter import Layout
from drapps.arguments import flag, whole
from drapps.bad_samples import BadSamplesFile
from drapps.batch import Batch
from drapps.deprecation import old_method
from drapps.epochs import LAST, Epochs
from drapps.errors import PipelineError
from drapps.identity import identity
from drapps.monitor.observing import Observer
from drapps.monitor.offering import native_look, observed
from drapps.pass_iterator import PassIterator
from drapps.placement import warn_of_device
from drapps.policy import Policy, choice, to_json
from drapps.recording import Recording, record_native, warn
from drapps.report import BadSample, Explanation, MemoryReport, Stats
from drapps.resources import Resources
from drapps.source import Source
from drapps.spec import MOST_ROWS
from drapps.stream import Stream

if TYPE_CHECKING:
    import numpy as np
    import torch

    from drapps.corpus.source import TextSource
    from drapps.identity import AnySpec
    from drapps.torch.ahead import AheadStream

KIND = "drapps.Loader"
_FAR = 2**63 - 1  # behind every position


class Loader:
    """Batches of a pipeline; made by `Pipeline.batch`.

    Each ``iter()`` is a fresh pass over the next epoch, and several may live at once. What is
    yielded depends on the description, the epoch and the position alone, never on the machine, the
    policy or the budgets.
    """

    def __init__(
        self,
        source: Source | TextSource,
        spec: AnySpec,
        resources: Resources,
        bad_samples_file: BadSamplesFile | None = None,
    ) -> None:
        """Checks the description. Nothing runs before the first ``iter()``.

        Args:
            source: where the samples come from.
            spec: what is done with them.
            resources: what it runs with.
            bad_samples_file: where to write down the bad ones.

        Raises:
            PipelineError: the description makes no sense; the message says which part and why.
        """
        self._source = source
        self._spec = spec
        self._native = _native(source, spec, resources)
        self._resources = resources
        self._frozen = False
        self._identity = identity(source, spec)
        self._bad_samples_file = bad_samples_file
        self._epochs = Epochs()
        self._resumed = (0, 0, b"")  # epoch, position and cursors of a loaded state
        self._observer: Observer | None = None
        # Outlives its iterator: it knows where that stood.
        self._latest: Stream | AheadStream | None = None

    def __iter__(self) -> LoaderIterator:
        return self._iterated(self._begin())

    def iterate_on(self, device: str) -> LoaderIterator:
        """A pass over the next epoch, whose batches a device finishes where it can.

        Those of arrays that live on a device are made where these are.

        Args:
            device: as the core calls it: ``"cuda:0"``.

        Raises:
            PipelineError: no such device.
        """
        return self._iterated(self._begin(device))

    def _begin(self, device: str | None = None) -> Stream:
        warn(self._native)
        self._latest = stream = self._stream(*self._epochs.take(), device)
        warn_of_device(self._native)
        return stream

    def _iterated(self, stream: Stream) -> LoaderIterator:
        return LoaderIterator(stream, self._state_of(stream), self._ended)

    def _ended(self) -> None:
        warn(self._native)
        warn_of_device(self._native)

    def _stream(self, epoch: int, position: int, device: str | None = None) -> Stream:
        stream = Stream(
            self._native,
            epoch,
            position,
            cursors=self._cursors(epoch, position),
            bad_samples_file=self._bad_samples_file,
            device=device,
        )
        return self._seen(stream)

    def _seen(self, stream: Stream) -> Stream:
        """A new stream, which who watches the process may see from now on."""
        look = native_look(self._native, self.policy)
        self._observer = observed(self._observer, KIND, type(self._source).__name__, look)
        return stream

    def _cursors(self, epoch: int, position: int) -> bytes:
        """Where the streams of a loaded state stood, at its place alone."""
        return self._resumed[2] if self._resumed[:2] == (epoch, position) else b""

    def iterate(self, epoch: int, position: int = 0) -> LoaderIterator:
        """A pass from any place on, of which `state_dict` and `epochs` know nothing."""
        epoch, position = whole("epoch", epoch, 0, LAST), whole("position", position, 0, _FAR)
        return self._iterated(self._stream(epoch, position))

    def __len__(self) -> int:
        """Steps of a whole epoch, the same on every rank."""
        len(self._source)  # a TypeError where it has no end
        return self.steps(self._epochs.upcoming[0])

    def steps(self, epoch: int, position: int = 0) -> int:
        """Steps of an epoch from a position on."""
        epoch, position = whole("epoch", epoch, 0, LAST), whole("position", position, 0, _FAR)
        return self._native.steps(epoch, position)

    @property
    def epochs(self) -> Epochs:
        """Which epoch the next ``iter()`` gets, and where in it that begins."""
        return self._epochs

    @cached_property
    def layout(self) -> Layout:
        """What batches hold, and how an epoch is dealt out."""
        sampler = self._spec.sampler
        return Layout(
            columns=tuple(self.explain().plan.columns or ()),
            batch_size=sampler.batch,
            rank=sampler.rank,
            world=sampler.world,
            remainder=sampler.remainder,
            on_error=self._spec.on_error,
            dataset_size=self.dataset_size,
            classes=self.classes,
        )

    @property
    def dataset_size(self) -> int:
        """Samples in the source."""
        return len(self._source)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their labels; empty where the source has none."""
        return self._source.classes

    def numpy(self) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
        """One pass over the next epoch as dictionaries of writable arrays, without a copy."""
        return (batch.numpy() for batch in self)

    def torch(self, device: torch.device | str | None = None) -> Iterator[dict[str, torch.Tensor]]:
        """One pass over the next epoch as dictionaries of ``torch.Tensor``.

        Args:
            device: where they are, brought there from pinned memory ahead of the step that takes
                them, as bytes where their pictures can be finished there; where absent, in the
                batch's own memory, without a copy. Arrays that live on a device (`device_memory`)
                make batches there, which are not copied.

        Raises:
            PipelineError: no such device.
        """
        if device is None:
            return (batch.torch() for batch in self)
        from drapps.torch import destination, on_device, resident, transfer

        wanted = destination.device_of(device)
        if self._resources.device_memory:
            return on_device.there(iter(self), wanted)
        if wanted is None:
            return self.torch()
        there = destination.device_memory(wanted)
        begun = self._begin(resident.core_name(wanted))
        if self._native.on_device:
            return on_device.copied(self._iterated(begun), wanted)
        thread = transfer.TransferThread(there)
        stream = on_device.ahead(begun, thread)
        self._latest = stream
        return on_device.DeviceIterator(stream, thread, self._state_of(stream), self._ended)

    def jax(self, device: Any = None, sharding: Any = None) -> Iterator[dict[str, Any]]:
        """One pass over the next epoch as dictionaries of ``jax.Array``, one batch ahead.

        `drapps.jax.Loader` is the same for many epochs, and says more.

        Args:
            device: a ``jax.Device``; jax's default one where absent.
            sharding: a ``jax.sharding.NamedSharding`` in its place.

        Raises:
            PipelineError: both were given, or something else.
        """
        from drapps import jax

        return iter(jax.Loader(self, sharding, device=device))

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` takes this epoch number, and goes on in a loaded state of it."""
        self._epochs.pin(epoch)

    def set_batch_size(self, size: int) -> None:
        """Batches have another size from the next ``iter()`` on.

        A pass that is under way goes on as it began. ``load_state_dict(state_dict())`` before the
        next ``iter()`` goes on in the middle of its epoch instead, where no sample is left out and
        none comes twice. Knobs stay where they stand; what `stats` counts, the decision log and a
        recording belong to the loader as it was.

        Args:
            size: samples per batch and rank.

        Raises:
            PipelineError: no such size, or one for which the description makes no sense.
        """
        sampler = replace(self._spec.sampler, batch=whole("size", size, 1, MOST_ROWS))
        spec = replace(self._spec, sampler=sampler)
        resources = replace(self._resources, settings=self.export_settings())
        self._native = _native(self._source, spec, resources)
        self._native.freeze(self._frozen)
        if self._observer is not None:
            self._observer.look = native_look(self._native, self.policy)
        self._spec, self._resources = spec, resources
        self.__dict__.pop("layout", None)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator is: JSON-able, and counts the batches it yielded.

        At the end of an epoch it is the beginning of the next one. It may be loaded with another
        batch size or world size.
        """
        if self._latest is None or self._latest.left <= 0:
            return self._state(*self._epochs.upcoming)
        return self._state_of(self._latest)(*self._latest.place)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state_dict` was made.

        Raises:
            PipelineError: no state of `state_dict`, or one of another dataset, order or pipeline.
        """
        epoch, position = state.check(state_dict, KIND, self._identity)
        if position > self._source.size:
            raise PipelineError(
                f"the state's position {position} lies behind the {self._source.size} samples"
            )
        self._latest = None
        self._epochs.resume(epoch, position)

    def _state_of(self, stream: Stream | AheadStream) -> Callable[[int, int], dict[str, Any]]:
        """What makes the state of a place in a stream."""
        return functools.partial(self._state, stream=stream)

    def _state(
        self, epoch: int, position: int, stream: Stream | AheadStream | None = None
    ) -> dict[str, Any]:
        snapshot = state.make(KIND, epoch, position, self._identity)
        if stream is None or position == 0:
            return state.with_cursors(snapshot, self._cursors(epoch, position))
        return state.with_cursors(snapshot, stream.cursors(position))

    def explain(self) -> Explanation:
        """What runs and why: `plan`, `forms` and `decisions`. It prints as a page."""
        warn(self._native)
        return Explanation.of_native(self._native.explain(), choice(self.policy, "threads"))

    def stats(self) -> Stats:
        """All that was counted since the loader was made; it prints as a page.

        docs/guides/numbers.md says what each number means, and what to do about it.
        """
        return Stats.of_core(self._native.stats())

    @property
    def policy(self) -> Policy:
        """Who moves the knobs. Another one may be set at any time, also while a pass runs.

        It knows nothing of what the one before it learnt; the knobs stay where they stand.

        Raises:
            PipelineError: an unknown policy, which leaves the old one at work.
        """
        return self._resources.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        resources = replace(self._resources, policy=policy)
        self._native.set_policy(to_json(resources.policy))
        self._resources = resources

    def freeze(self, frozen: bool = True) -> None:
        """Stops the control plane: no knob moves until ``freeze(False)``."""
        self._frozen = flag("frozen", frozen)
        self._native.freeze(self._frozen)

    def record(self, path: str | os.PathLike[str]) -> Recording:
        """Records every decision, and all that it was made from, into a new file.

        The recording ends at its `Recording.stop`, at the end of a ``with`` block of it, or with
        the loader. It may begin before the first pass or amid one. `drapps.trace` reads it. A full
        disk ends it with one ``RuntimeWarning``, and the loader goes on.

        Raises:
            PipelineError: there is a file of this name, or the loader is recorded already.
            OSError: the file cannot be made.
        """
        return record_native(self._native, path)

    def export_settings(self) -> dict[str, Any]:
        """The knobs as they stand; ``Pipeline.batch(…, settings=…)`` starts from them."""
        settings: dict[str, Any] = json.loads(self._native.settings())
        return settings

    def memory(self) -> MemoryReport:
        """The memory of this process, all its loaders together, and what it is for."""
        return MemoryReport.from_json(_core.memory())

    def bad_samples(self) -> list[BadSample]:
        """The bad samples that the latest iterator met; empty before the first ``iter()``."""
        return [] if self._latest is None else self._latest.bad_samples()

    ledger = old_method("ledger", "bad_samples")


def _native(source: Source | TextSource, spec: AnySpec, resources: Resources) -> _core.Loader:
    """The native loader that runs.

    Raises:
        PipelineError: the description makes no sense.
    """
    try:
        described = json.dumps(spec.to_json())
        loader = _core.Loader(source.located(), described, resources.to_json(), **spec.attached)
        loader.steps(0, 0)
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return loader


class LoaderIterator(PassIterator[Stream, Batch]):
    """One pass over one epoch. Errors do not end it: the next call goes on behind the bad batch.

    It works ahead until it is exhausted, closed, or no longer referenced.
    """

    def _item(self, taken: _core.Batch) -> Batch:
        return Batch(taken)

    def consumed_outside(self) -> Stream:
        """Says that this iterator is called ahead of the training step, see `drapps.adapter`."""
        self._stream.consumed_outside()
        return self._stream
