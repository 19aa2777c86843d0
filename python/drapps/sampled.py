"""What pipelines have in common: which samples stand in which batch of which rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import PipelineError
from drapps.spec import REMAINDERS

if TYPE_CHECKING:
    from typing_extensions import Self

    from drapps.storage import EmulatedStorage


class Stored:
    """A frozen dataclass whose field ``source`` reads files."""

    source: Any

    def on(self, storage: EmulatedStorage) -> Self:
        """The files lie on this storage, which `drapps.emulate` makes; what is read is the same.

        Raises:
            PipelineError: it is none, or the files are Parquet files of text, which pyarrow reads.
        """
        source = self.source.on(on_storage(storage))
        return replace(self, source=source)  # type: ignore[type-var]


def on_storage(storage: Any) -> EmulatedStorage:
    """What `drapps.emulate` has made.

    Raises:
        PipelineError: it is something else.
    """
    from drapps.storage import EmulatedStorage

    if not isinstance(storage, EmulatedStorage):
        raise PipelineError(f"storage={storage!r} must be what drapps.emulate() has made")
    return storage


class Described(Stored):
    """A frozen dataclass whose field ``_spec`` describes a pipeline."""

    _spec: Any

    def _with(self, **changes: Any) -> Self:
        spec = replace(self._spec, **changes)
        return replace(self, _spec=spec)  # type: ignore[type-var]

    def _sample(self, **changes: Any) -> Self:
        return self._with(sampler=replace(self._spec.sampler, **changes))


class Sampled(Described):
    """A pipeline whose samples are counted: the base of `Pipeline` and `TokenRowsPipeline`."""

    def shuffle(self, seed: int = 0) -> Self:
        """Each epoch in another order, drawn from `seed`; give all ranks the same one."""
        return self._sample(shuffle=True, seed=arguments.seed("seed", seed))

    def shard(
        self, rank: int, world: int, remainder: str = "even", *, model_parallel: int = 1
    ) -> Self:
        """This rank's share of every global batch; all ranks take equal steps.

        Args:
            rank: of this process, from 0.
            world: number of ranks.
            remainder: the last global batch is split unevenly (``even``), filled up with repeated,
                flagged rows (``pad``), or left out (``drop``).
            model_parallel: so many neighbouring ranks hold one model together, by tensor or
                pipeline parallelism: they get the same rows, and `world` divided by it is how many
                shares there are.
        """
        rank, world = arguments.rank_in(rank, world, model_parallel)
        remainder = arguments.one_of("remainder", remainder, REMAINDERS)
        return self._sample(rank=rank, world=world, remainder=remainder)
