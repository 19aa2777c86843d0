"""What a loader runs with, as its user says it and as the core takes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from drapps.arguments import Bytes, byte_count, cores, json_of, one_of, text
from drapps.errors import PipelineError
from drapps.placement import FIRST_GPU, PLACEMENTS, Placement
from drapps.policy import AUTO, DEFAULTS, Policy, is_auto, to_json

_CACHES = ("auto", "off")


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What a loader runs with, none of which changes what it yields.

    A field here is an option of the core's table (``control/resources.cc``) under the same name; a
    front offers it as an argument.

    Attributes:
        policy: who moves the knobs; None is the default, too.
        cpu_budget: the most cores to use.
        ram_budget: the most bytes that the loader may own.
        settings: knobs to start with, as they were exported.
        weights: what lane weights say.
        cache: what to keep from epoch to epoch: ``auto``, ``off`` or a budget in bytes.
        form: in which form.
        placement: where pictures are decoded.
        device: on which arrays live, or pictures are decoded, as the core calls it; None: the first
            GPU, where one is needed.
        device_memory: the most bytes that arrays may take there; 0: they live elsewhere.

    Raises:
        PipelineError: one of them makes no sense; it is named.
    """

    policy: Policy = DEFAULTS["threads"]
    cpu_budget: float | None = None
    ram_budget: Bytes | None = None
    settings: Mapping[str, Any] | None = None
    weights: str = "share"
    cache: Literal["auto", "off"] | Bytes = "auto"
    form: str = "auto"
    placement: Placement = "cpu"
    device: str | None = None
    device_memory: Bytes = 0

    def __post_init__(self) -> None:
        from drapps import _core

        for name, check in _CHECKS.items():
            object.__setattr__(self, name, check(getattr(self, name)))
        try:
            _core.check_resources(self._described(settings=None))
        except ValueError as error:
            raise PipelineError(str(error)) from None

    @classmethod
    def of_text(
        cls,
        policy: Policy,
        cpu_budget: float | None,
        ram_budget: Bytes | None,
        settings: Mapping[str, Any] | None,
        cache: Literal["auto", "off"] | Bytes,
    ) -> Resources:
        """The resources of a loader of text or tokens, of which what is kept are bytes of files."""
        return cls(
            policy=policy,
            cpu_budget=cpu_budget,
            ram_budget=ram_budget,
            settings=settings,
            cache=cache,
        )

    def to_json(self) -> str:
        """The resources as the core reads them."""
        return self._described()

    def _described(self, **others: Any) -> str:
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        named["policy"] = json.loads(to_json(self.policy))
        named["device_memory"] = self.device_memory or None
        if self.placement != "cpu" or self.device_memory:
            named["device"] = self.device or FIRST_GPU
        return json.dumps({**named, **others})


def _policy(policy: Policy | None) -> Policy:
    """A policy as the core takes it, where the choice is the user's."""
    named: Policy = AUTO if is_auto(policy) else json.loads(to_json(policy))
    return named


def _cpu_budget(budget: Any) -> float | None:
    return None if budget is None else cores("cpu_budget", budget)


def _ram_budget(budget: Any) -> int | None:
    return None if budget is None else byte_count("ram_budget", budget)


def _settings(settings: Any) -> dict[str, Any] | None:
    """Settings that some loader has exported, native or not."""
    from drapps import _core

    if settings is None:
        return None
    try:
        _core.check_settings(json_of("settings", settings))
    except ValueError as error:
        raise PipelineError(f"settings={settings!r}: {error}") from None
    return dict(settings)


def _cache(cache: Any) -> int | str:
    if isinstance(cache, str) and cache in _CACHES:
        return cache
    return byte_count("cache", cache, besides='"auto", "off" or ')


def _device_memory(size: Any) -> int:
    if type(size) is int and size == 0:
        return 0
    return byte_count("device_memory", size)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "policy": _policy,
    "cpu_budget": _cpu_budget,
    "ram_budget": _ram_budget,
    "settings": _settings,
    "weights": lambda weights: text("weights", weights),
    "cache": _cache,
    "form": lambda form: text("form", form),
    "placement": lambda placement: one_of("placement", placement, PLACEMENTS),
    "device": lambda device: None if device is None else text("device", device),
    "device_memory": _device_memory,
}
