"""What pipelines of rows of text have in common: order, ranks, masks, and the loader."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments
from drapps.corpus.lengths import epoch_rows
from drapps.corpus.source import TextSource
from drapps.corpus.spec import PackedSpec
from drapps.corpus.tokens import masking, token_id
from drapps.errors import PipelineError
from drapps.sampled import Described

if TYPE_CHECKING:
    from typing_extensions import Self

    from drapps.corpus.loader import PackedLoader
    from drapps.resources import Resources

_MOST_ROWS = 2**48


@dataclass(frozen=True)
class TextRows(Described):
    """Rows of tokens: the base of `PackedPipeline` and `PaddedPipeline`."""

    source: TextSource
    _spec: PackedSpec

    def shuffle(self, seed: int = 0, *, order: Literal["blocks", "documents"] = "blocks") -> Self:
        """Documents in another random order each epoch.

        Args:
            seed: of the order.
            order: ``blocks`` shuffles blocks of files, some MiB of text each, and the documents of
                some of them at a time, so that files are read in large pieces; ``documents`` puts
                all documents in one random order, and reads each by itself. That is for Arrow files
                and plain ones: all of a file of lines is read once to find them, when the loader is
                made, and each line takes 8 bytes of memory.

        Raises:
            PipelineError: no such order, or files that can be read by blocks alone.
        """
        shuffled = self._sample(shuffle=True, seed=arguments.seed("seed", seed))
        if arguments.one_of("order", order, ("blocks", "documents")) == "blocks":
            return shuffled
        return replace(shuffled, source=self.source.by_number())

    def shard(self, rank: int, world: int, *, model_parallel: int = 1) -> Self:
        """This rank's share of every global batch: of its rows every `world`-th one.

        Args:
            rank: of this process, from 0.
            world: number of ranks.
            model_parallel: so many neighbouring ranks hold one model together, by tensor or
                pipeline parallelism: they get the same rows, and `world` divided by it is how many
                shares there are.
        """
        rank, world = arguments.rank_in(rank, world, model_parallel)
        return self._sample(rank=rank, world=world)

    def on_error(self, action: str) -> Self:
        """What a bad document does: ``raise`` (default), or ``skip``: it is left out.

        Either way it is listed by `Loader.bad_samples`. Where it is raised, its batch is an error
        and the next one goes on.
        """
        action = arguments.one_of("action", action, ("raise", "skip"))
        return self._with(on_error=action)

    def mask(
        self,
        token: int | str,
        probability: float = 0.15,
        *,
        replaced: float = 0.8,
        random: float = 0.1,
        whole_words: bool = False,
        seed: int = 0,
    ) -> Self:
        """Masked language modelling: ``labels`` are some tokens, in whose place others stand.

        Which ones follows from the seeds, the epoch and the number of the row. `eos`, `bos`,
        padding and the special tokens of the tokenizer are never chosen.

        Args:
            token: what stands in their place, such as ``"[MASK]"``, by its id or its text.
            probability: with which a token is chosen.
            replaced: of those that are, the share that becomes `token`.
            random: of those that are chosen, the share that becomes any token. The others stay.
            whole_words: a word is chosen as a whole, by its first token. Words begin behind white
                space, special tokens, and where a document does.
            seed: of the choices, beside that of the order.

        Raises:
            PipelineError: no such token, or no such shares.
        """
        how = masking(self._spec.packing.labels, probability, replaced, random, whole_words)
        masked = self._packing(mask=token_id("token", token, self._spec.tokenizer), **how)
        return masked._with(seed=arguments.seed("seed", seed))

    def describe(self) -> dict[str, Any]:
        """The description as plain, JSON-able data, with every default written out."""
        return self._spec.to_json()

    def _packing(self, **changes: Any) -> Self:
        return self._with(packing=replace(self._spec.packing, **changes))

    def _loader(
        self,
        rows: int | str | None,
        resources: Resources,
        bad_samples_file: str | os.PathLike[str] | None,
        learns: bool,
        name: str = "rows",
    ) -> PackedLoader:
        """The loader of passes of so many rows, or of an epoch; endless where there are none.

        Batches of a token budget are rows to it, as `name` says.
        """
        from drapps.bad_samples import file_at
        from drapps.corpus.loader import PackedLoader
        from drapps.identity import learning_from

        whole = self._sample(remainder="drop")
        self.source.sets  # noqa: B018  # so that a file that is not there is an error as such
        if isinstance(rows, str) and rows == "epoch":
            whole = whole._packing(ends=not self.source.weights)  # else all come again
            least = whole._spec.sampler.global_batch
            count: int | None = -(-epoch_rows(self.source, whole._spec) // least) * least
        else:
            count = None if rows is None else whole._whole_batches(rows, name)
        packing = self._spec.packing.packing
        also = " or tokens=" if packing in ("concatenate", "best_fit") else ""
        has_end = packing == "concatenate" or not self.source.weights
        of_epoch = f', such as {name}="epoch",' if has_end else ""
        source = self.source.of_rows(count, f"{name}={also}{of_epoch}")
        if learns:
            size = whole._spec.sampler.batch
            policy = learning_from(resources.policy, source, whole._spec, size)
            resources = replace(resources, policy=policy)
        return PackedLoader(
            source,
            whole._spec,
            resources,
            file_at(bad_samples_file),
        )

    def _whole_batches(self, rows: int | str, name: str) -> int:
        """The rows of a pass that are in whole global batches."""
        whole = arguments.whole(name, rows, 0, _MOST_ROWS)
        whole -= whole % self._spec.sampler.global_batch
        if whole == 0:
            least = self._spec.sampler.global_batch
            raise PipelineError(
                f"a pass has less than one batch of each rank, which is {least}: raise {name}="
                if name != "rows"
                else f"a pass has less than one global batch of {least} rows of "
                f"{self._spec.packing.length} tokens: raise rows= or tokens="
            )
        return whole
