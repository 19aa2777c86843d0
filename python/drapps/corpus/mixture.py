"""Documents of several sources, each with its share of the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.corpus.source import TextSource
from drapps.errors import PipelineError
from drapps.token_shards.spec import Rows

if TYPE_CHECKING:
    from drapps import _core
    from drapps.storage import EmulatedStorage
    from drapps.token_shards.source import TokenFiles

_MOST_WEIGHT = 10_000  # RowDeal::kMostWeight


class TextMixture(TextSource):
    """Several sources as one; see `drapps.mixture`.

    Attributes:
        sources: those that it has.
        weights: of each, a whole number in the ratio of the shares.
    """

    def __init__(self, sources: list[TextSource], shares: Any) -> None:
        """Raises PipelineError for shares that make no sense, and for a mixture of mixtures."""
        self.sources = sources
        self.weights = _weights(shares)
        if not sources or len(self.weights) != len(sources):
            raise PipelineError(
                f"there are {len(self.weights)} shares for {len(sources)} sources: "
                "give one for each"
            )
        if any(each.weights for each in sources):
            raise PipelineError("a source is a mixture itself: mix all sources at once")

    def on(self, storage: EmulatedStorage) -> TextSource:
        """The same documents, the files of all sources on another storage."""
        return TextMixture([each.on(storage) for each in self.sources], self.weights)._changed(
            _storage=storage
        )

    def by_number(self) -> TextSource:
        """The same documents, of each source read one by one."""
        other = TextMixture([each.by_number() for each in self.sources], self.weights)
        return other._changed(_storage=self._storage)

    @property
    def paths(self) -> list[Sequence[bytes]]:
        """The files of each source."""
        return [each.files for each in self.sources]

    @property
    def sets(self) -> Sequence[_core.Corpus | _core.TokenSet]:
        """The opened files of each source."""
        return [opened for each in self.sources for opened in each.sets]


class TokenRows(TextSource):
    """Ids that were written before, of which a mixture has rows."""

    def __init__(self, files: TokenFiles) -> None:
        self.files = files.names
        self._opens = files

    def on(self, storage: EmulatedStorage) -> TextSource:
        """The same ids, whose files lie on another storage."""
        return self._changed(_storage=storage)

    def by_number(self) -> TextSource:
        """The same ids, whose rows are put into a random order one by one anyway."""
        return self

    def epoch_rows(self, length: int, labels: str) -> int:
        """How many rows an epoch has of these ids."""
        kind = "shifted" if labels == "shifted" else "same"
        return len(self.sets[0].source(length, kind, False, "concatenate"))

    @property
    def sets(self) -> Sequence[_core.TokenSet]:
        """The files, with what says where documents begin."""
        return [self._opens.opened(Rows(1, documents=True))]


def _weights(shares: Any) -> tuple[int, ...]:
    """The smallest whole numbers in the ratio of the shares."""
    parts = []
    for each in arguments.listed(shares) or []:
        number = arguments.number_in(each)
        if number is None or not 0 < number < math.inf:
            raise PipelineError(f"shares has {each!r}: a share is a number above 0")
        parts.append(Fraction(each if isinstance(each, Rational) else str(number)))
    if not parts:
        raise PipelineError("shares must be a list with a number for each source")
    scale = math.lcm(*(part.denominator for part in parts))
    whole = [int(part * scale) for part in parts]
    weights = tuple(each // math.gcd(*whole) for each in whole)
    if sum(weights) > _MOST_WEIGHT:
        raise PipelineError(
            f"the shares are in the ratio {':'.join(map(str, weights))}, whose sum is above "
            f"{_MOST_WEIGHT}: round them"
        )
    return weights
