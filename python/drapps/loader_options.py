"""How a loader runs, as its user says it and as the core takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from drapps.arguments import Bytes, byte_count, cores, json_of, text
from drapps.errors import PipelineError
from drapps.policy import Policy, to_json

_CACHES = ("auto", "off")


def loader_options(
    policy: Policy | None,
    cpu_budget: float | None,
    ram_budget: Bytes | None,
    settings: Mapping[str, Any] | None,
    cache: Literal["auto", "off"] | Bytes = "auto",
    form: str = "auto",
) -> dict[str, Any]:
    """How a loader runs, none of which changes what it yields.

    Raises:
        PipelineError: an unknown policy or form of the cache, or a budget that is not positive.
    """
    from drapps import _core

    options: dict[str, Any] = {
        "policy": json.loads(to_json(policy)),
        "cpu_budget": cpu_budget,
        "ram_budget": ram_budget,
        "cache": cache,
        "form": text("form", form),
    }
    if cpu_budget is not None:
        options["cpu_budget"] = cores("cpu_budget", cpu_budget)
    if not (isinstance(cache, str) and cache in _CACHES):
        options["cache"] = byte_count("cache", cache, besides='"auto", "off" or ')
    if ram_budget is not None:
        options["ram_budget"] = byte_count("ram_budget", ram_budget)
    try:
        _core.check_options(json.dumps(options))
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return {**options, "settings": None if settings is None else checked_settings(settings)}


def checked_settings(settings: Any) -> dict[str, Any]:
    """Settings that some loader has exported, native or not.

    Raises:
        PipelineError: they are no such thing, or of another version.
    """
    from drapps import _core

    plain = json_of("settings", settings)
    try:
        _core.check_settings(plain)
    except ValueError as error:
        raise PipelineError(f"settings={settings!r}: {error}") from None
    return dict(settings)
