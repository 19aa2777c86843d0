"""Arguments that torchvision's second API takes by the type of what it transforms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from drapps.torch.recognise import NotLifted, name_of

MASK = "torchvision.tv_tensors._mask.Mask"


def of_kind(given: Mapping[Any, Any], kind: str, default: Any) -> Any:
    """What a dictionary by type says of `kind`, a qualified name, as v2 reads it.

    Raises:
        NotLifted: a subclass of dict, which may say anything.
    """
    if type(given) not in (dict, defaultdict):
        raise NotLifted(f"an argument is a {name_of(given)}")
    for key, value in given.items():
        if isinstance(key, type) and name_of(key) == kind:
            return value
    return given.get("others", default)
