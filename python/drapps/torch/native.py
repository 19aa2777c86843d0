"""The native side of a lifted loader: what was made of its recipe, and each pass over it."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from drapps import _core, state
from drapps.attributes import attribute_of
from drapps.bad_samples import BadSamplesFile
from drapps.errors import PipelineError, StateError
from drapps.report import BadSample
from drapps.resources import Resources
from drapps.source import Source
from drapps.stream import Stream
from drapps.torch.ahead import AheadStream
from drapps.torch.broken_order import BrokenOrderStream
from drapps.torch.generators import States, fields
from drapps.torch.lifting import Recipe
from drapps.torch.native_order import Consumed, Kind, NativeOrder, StockDraws
from drapps.torch.pictures import read_foreign
from drapps.torch.recognise import NotLifted
from drapps.torch.transfer import TransferThread

if TYPE_CHECKING:
    from drapps.source import Int64Array

KIND = "drapps.torch.DataLoader"
AnyStream: TypeAlias = Stream | BrokenOrderStream | AheadStream


class Native:
    """A recipe and the native loader made of it."""

    def __init__(self, recipe: Recipe, resources: Resources, earlier: Native | None) -> None:
        """Makes the native loader; the files of `earlier` are used again where they are the same.

        Raises:
            NotLifted: the files or the description cannot be run natively.
            PipelineError: the settings are of something else, or one batch needs more than the RAM
                budget that was given.
        """
        self.recipe = recipe
        self._data = recipe.folder  # what the source was made of
        if earlier is not None and recipe.folder.unchanged_since(earlier._data):
            self._data = earlier._data
            self.source: Source = earlier.source
        else:
            self.source = recipe.folder.source()
        self.resident = bool(resources.device_memory)
        try:
            self.core = self._loader(resources)
        except ValueError as error:
            if self.resident and self._runs(replace(resources, device_memory=0)):
                raise PipelineError(str(error)) from None
            budget = resources.ram_budget
            if budget is not None and self._runs(replace(resources, ram_budget=None)):
                raise PipelineError(f"ram_budget={budget} is too small: {error}") from None
            raise NotLifted(f"the native path refuses it: {error}") from None
        settings = resources.settings
        if settings is not None:
            try:
                self.core.apply(json.dumps(settings))
            except ValueError as error:
                raise PipelineError(f"settings={settings!r}: {error}") from None
        self._dataset = self.source.digest()

    def _loader(self, resources: Resources) -> _core.Loader:
        return _core.Loader(
            self.source.located(),
            json.dumps(self.recipe.spec.to_json()),
            replace(resources, settings=None).to_json(),
            read_foreign,
        )

    def _runs(self, resources: Resources) -> bool:
        try:
            self._loader(resources)
        except ValueError:
            return False
        return True

    def serves(self, recipe: Recipe) -> bool:
        """Whether this is what `recipe` would make, but for its sampler and what it reports."""
        return self.recipe.spec == recipe.spec and recipe.folder.unchanged_since(self._data)

    def identity(self) -> dict[str, Any]:
        """What a state must agree with."""
        sampler = self.recipe.order
        return {
            "size": len(self.source),
            "dataset": self._dataset,
            "order": sampler.kind.value,
        }


class Pass:
    """One pass over one epoch, from its `iter()` on.

    Attributes:
        native: what it runs on.
        seed: of its order and its random numbers.
        key_epoch: stands beside the seed in the key, see `Passes._key_epoch`.
    """

    def __init__(
        self,
        native: Native,
        epoch: int,
        start: int,
        seed: int,
        key_epoch: int,
        resumed: Mapping[str, Any] | None,
        generators: States,
        bad_samples_file: BadSamplesFile | None,
    ) -> None:
        self.native = native
        self.seed = seed
        self.key_epoch = key_epoch
        self._generators = generators
        self._bad_samples_file = bad_samples_file
        self._epoch = epoch
        self._start = start
        self._resumed = resumed
        self._asked = 0  # batches that stock would have asked the sampler for
        self._consumed: Consumed | None = None
        self._sampler_epoch = attribute_of(native.recipe.order.sampler, "epoch")
        self._stream: AnyStream | None = None
        self._device: str | None = None

    def begin(self, device: str | None) -> AnyStream:
        """Starts the native iterator, whose batches `device` finishes where it can.

        Raises:
            StateError: it was to be resumed, and the user's sampler gives another order now.
        """
        self._device = device
        order = self.native.recipe.order
        try:
            stream = self._given(order) if order.kind is Kind.SAMPLER else self._open(self._start)
        except PipelineError as error:
            if self._start == 0:
                raise
            raise StateError(f"the state's position is {self._start}: {error}") from None
        self._stream = stream
        self._draws = StockDraws(order)
        self._asks(self._start // order.batch_size + self.native.recipe.ahead)
        return self._stream

    def sent_ahead(self, stream: Stream | BrokenOrderStream, transfer: TransferThread) -> AnyStream:
        """The iterator that was begun, with `transfer` beside it."""
        self._stream = AheadStream(stream, transfer)
        return self._stream

    def _given(self, order: NativeOrder) -> Stream | BrokenOrderStream:
        """What the user's sampler orders."""
        indices, failure = order.indices()
        self._consumed = Consumed(indices)
        self._check_order(len(indices))
        if failure is None and ((indices >= 0) & (indices < order.size)).all():
            return self._open(self._start, indices)
        return BrokenOrderStream(self._open, order, indices, failure, self._epoch, self._start)

    def _open(self, start: int, indices: Int64Array | None = None) -> Stream:
        return Stream(
            self.native.core,
            self._epoch,
            start,
            indices,
            self.native.recipe.order.own_seed(self.seed),
            key_epoch=self.key_epoch,
            ahead=self.native.recipe.ahead > 0,
            bad_samples_file=self._bad_samples_file,
            device=self._device,
        )

    def _asks(self, batches: int) -> None:
        self._asked += batches
        self._draws.asked(self._asked)

    def _check_order(self, length: int) -> None:
        if self._resumed is None or self._consumed is None or self._start == 0:
            return
        digest = self._consumed.upto(self._start)
        if length < self._start or digest != self._resumed.get("consumed"):
            raise StateError(
                "the sampler gives another order than when the state was saved: seed it, and set "
                "its epoch, as they were then"
            )

    @property
    def over(self) -> bool:
        """Whether all batches were yielded."""
        return self._stream is not None and self._stream.left <= 0

    def stepped(self) -> None:
        """A batch was yielded, or is bad, or there is none any more."""
        self._asks(1)

    @contextlib.contextmanager
    def at_its_end(self) -> Iterator[None]:
        """The generators as they are once a pass that is over was asked for one more batch."""
        generator = self.native.recipe.order.draws
        if generator is None:
            yield
            return
        kept = generator.get_state()
        copy.copy(self._draws).asked(self._asked + 1)
        try:
            yield
        finally:
            generator.set_state(kept)

    def state_dict(self) -> dict[str, Any]:
        """The state after the batches yielded."""
        place = (self._epoch, self._start) if self._stream is None else self._stream.place
        saved = state.make(KIND, *place, self.native.identity())
        saved |= {"seed": self.seed, "key_epoch": self.key_epoch, **fields(self._generators)}
        if isinstance(self._sampler_epoch, int):
            saved["sampler_epoch"] = self._sampler_epoch
        if self._consumed is not None:
            saved["consumed"] = self._consumed.upto(place[1])
        elif self._resumed is not None and "consumed" in self._resumed:
            saved["consumed"] = self._resumed["consumed"]
        return saved

    def lasting(self) -> dict[str, Any]:
        """What the next pass has of this one, which is over, where workers are persistent."""
        return {"seed": self.seed, "key_epoch": self.key_epoch + 1}

    def bad_samples(self) -> list[BadSample]:
        """The bad samples so far."""
        return [] if self._stream is None else self._stream.bad_samples()
