"""What decides about the knobs of a loader, as a user names it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from drapps.arguments import json_of
from drapps.errors import PipelineError

#: A name, the fields of docs/reference/policies.md, or a file of these.
Policy = str | Mapping[str, Any] | os.PathLike[str]
Makers = Literal["threads", "processes"]  # of samples: of this process, or workers that run Python

AUTO = "auto"
PUBLISHED = ("paper-a", "paper-b", "paper-c")  # designs: docs/guides/learned-policies.md
#: Learned policies whose weights come with DRAPPS.
TRAINED = ("ppo", *PUBLISHED)
_NO_ACCELERATOR = "decode_on_gpu and augment_on_gpu, which no live loader has, are masked"
_MASKED: Mapping[tuple[str, Makers], str] = {
    ("paper-a", "threads"): "paper-a moves workers and prefetch_depth here: form, "
    + _NO_ACCELERATOR,
    ("paper-a", "processes"): "paper-a moves processes here: prefetch_depth, form, "
    + _NO_ACCELERATOR,
    ("paper-b", "threads"): "paper-b moves nothing here: " + _NO_ACCELERATOR,
    ("paper-b", "processes"): "paper-b moves nothing here: " + _NO_ACCELERATOR,
    ("paper-c", "threads"): "paper-c shares workers among the lanes of a plan that can be split: "
    "tokenising, which is no lane here, is masked",
    ("paper-c", "processes"): "paper-c moves nothing here: worker processes have no lanes, so that "
    "shares are masked",
}
_NOTES = ("tuned", "card")  # of a file: what is known of the policy, which decides nothing
DEFAULTS: Mapping[Makers, Policy] = {"threads": "initial", "processes": "trials"}
#: Policies that a kept comparison on live loaders has found no slower than the default, by what
#: makes the samples: docs/reference/policies.md says when one is.
PASSED: Mapping[Makers, str | Mapping[str, Any]] = {}


def without_notes(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy as the core takes it, of what stands in a file."""
    return {name: value for name, value in policy.items() if name not in _NOTES}


def read(file: os.PathLike[str]) -> dict[str, Any]:
    """All that stands in the file of a policy.

    Raises:
        PipelineError: it cannot be read, or holds no policy.
    """
    try:
        policy = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PipelineError(f"policy file {os.fspath(file)!r} cannot be read: {error}") from None
    if not isinstance(policy, dict) or "name" not in policy:
        raise PipelineError(
            f"{os.fspath(file)!r} is no file of a policy: it is no JSON object with a name"
        )
    return policy


def shipped_file(name: str) -> Path:
    """The file of a policy of `TRAINED`."""
    return Path(__file__).parent / "simulation" / "trained" / f"{name}.json"


def is_auto(policy: Any) -> bool:
    """Whether who decides is left to DRAPPS."""
    return isinstance(policy, str) and policy == AUTO


def chosen(policy: Policy | None, makers: Makers) -> Policy:
    """Who decides, of those that a user may name.

    Without a name it is the default. ``auto`` is the default too, or a policy that has passed its
    gate, under the judge. A file gives the policy that stands in it. A policy of `TRAINED` that is
    given no weights has those that come with DRAPPS.

    Raises:
        PipelineError: a file cannot be read.
    """
    if policy is None:
        return DEFAULTS[makers]
    if isinstance(policy, os.PathLike):
        return without_notes(read(policy))
    if not is_auto(policy):
        return _with_weights(policy)
    passed = PASSED.get(makers)
    if passed is None:
        return DEFAULTS[makers]
    return {**({"name": passed} if isinstance(passed, str) else passed), "judge": True}


def learning(policy: Policy | None, makers: Makers, pipeline: str) -> dict[str, Any]:
    """The policy, which goes on learning where it runs.

    Args:
        policy: as `chosen` takes it.
        makers: what makes the samples.
        pipeline: what it loads, in a text: what is learnt of one is kept apart from others.

    Raises:
        PipelineError: a file cannot be read.
    """
    named = chosen(policy, makers)
    given = dict(named) if isinstance(named, Mapping) else {"name": named}
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    name = hashlib.sha256(pipeline.encode()).hexdigest()[:32]
    return {**given, "learn": True, "keep_in": str(Path(base) / "drapps" / "learned" / name)}


def _with_weights(policy: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    name = policy.get("name") if isinstance(policy, Mapping) else policy
    given = isinstance(policy, Mapping) and "weights" in policy
    if given or not isinstance(name, str) or name not in TRAINED:
        return policy
    shipped = without_notes(read(shipped_file(name)))
    return {**shipped, **policy} if isinstance(policy, Mapping) else shipped


def choice(policy: Policy | None, makers: Makers) -> str:
    """Why the policy decides, or what of it is masked, in a sentence; empty where neither is so."""
    if policy is not None and not is_auto(policy):
        name = policy.get("name") if isinstance(policy, Mapping) else policy
        return _MASKED.get((str(name), makers), "")
    if makers in PASSED:
        return f"auto: {name_of(PASSED[makers])} has passed its gate, and has a judge"
    return f"auto is {name_of(DEFAULTS[makers])} here: no other policy has passed its gate"


def to_json(policy: Policy | None, makers: Makers = "threads") -> str:
    """A policy as the core reads it.

    Raises:
        PipelineError: an unknown policy, or one that does not take what the mapping gives.
    """
    from drapps import _core

    named = chosen(policy, makers)
    text = json_of("policy", dict(named) if isinstance(named, Mapping) else named)
    try:
        _core.check_policy(text)
    except ValueError as error:
        raise PipelineError(f"policy={policy!r}: {error}") from None
    return text


def name_of(policy: Policy) -> str:
    """The name of a policy alone."""
    if isinstance(policy, os.PathLike):
        policy = read(policy)
    return policy if isinstance(policy, str) else str(policy["name"])
