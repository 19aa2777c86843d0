"""Who is compared: the same training, with some of the parts on."""

from __future__ import annotations

from dataclasses import dataclass, replace

BASELINE, ALL, STOCK = "baseline", "all", "stock loader"


@dataclass(frozen=True)
class Arm:
    """What is on.

    Attributes:
        name: of the arm.
        loader: ``drapps`` or ``torch``.
        batch: `BatchSchedule`, from the noise scale.
        scaling: the learning rate follows the batch.
        precision: what `checked_precision` has chosen, instead of fp32.
    """

    name: str
    loader: str = "drapps"
    batch: bool = False
    scaling: bool = False
    precision: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is a loop of torch's own parts."""
        return not (self.batch or self.scaling or self.precision)


_EVERYTHING = Arm(ALL, batch=True, scaling=True, precision=True)
PIECES = ("batch", "scaling", "precision", "loader")


def without(piece: str) -> Arm:
    """Everything but one piece."""
    off: dict[str, object] = {"loader": "torch"} if piece == "loader" else {piece: False}
    return replace(_EVERYTHING, name=f"{ALL} but {piece}", **off)  # type: ignore[arg-type]


ARMS = {
    arm.name: arm
    for arm in (
        Arm(BASELINE),
        Arm(STOCK, loader="torch"),
        _EVERYTHING,
        *map(without, PIECES),
    )
}
