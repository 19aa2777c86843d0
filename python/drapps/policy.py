"""What decides about the knobs of a loader, as a user names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drapps.arguments import json_of
from drapps.errors import PipelineError

Policy = str | Mapping[str, Any]  # a name, or the fields of docs/reference/policies.md


def to_json(policy: Policy) -> str:
    """A policy as the core reads it.

    Raises:
        PipelineError: an unknown policy, or one that does not take what the mapping gives.
    """
    from drapps import _core

    text = json_of("policy", dict(policy) if isinstance(policy, Mapping) else policy)
    try:
        _core.check_policy(text)
    except ValueError as error:
        raise PipelineError(f"policy={policy!r}: {error}") from None
    return text


def name_of(policy: Policy) -> str:
    """Its name alone."""
    return policy if isinstance(policy, str) else str(policy["name"])
