"""What a description and its data are, to states that are saved and policies that learn."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from drapps.policy import Policy, learning

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.corpus.spec import PackedSpec
    from drapps.source import Source
    from drapps.spec import Spec
    from drapps.token_shards.spec import TokenRowsSpec

    AnySpec = Spec | PackedSpec | TokenRowsSpec


def learning_from(
    policy: Policy, source: Source | TextSource, spec: AnySpec, batch: int
) -> dict[str, Any]:
    """The policy, which goes on learning: apart for what is loaded, and for the size of batches.

    Raises:
        PipelineError: a file of a policy cannot be read.
    """
    what = identity(source, spec)
    return learning(policy, "threads", f"{what['dataset']} {what['pipeline']} {batch}")


def identity(source: Source | TextSource, spec: AnySpec) -> dict[str, Any]:
    """What a state must agree with: everything that decides which samples an epoch holds, and how.

    Batch size and ranks are left out, because a position means the same under any.
    """
    described = spec.to_json()
    names = ("decode", "ops", "tensor", "mix", "parts")
    parts = [described[name] for name in names if name in described]
    what = json.dumps([*parts, *spec.attached_digests], sort_keys=True)
    return {
        "size": source.extent,
        "dataset": source.digest(),
        "shuffle": spec.sampler.shuffle,
        "shuffle_seed": spec.sampler.seed,
        "seed": spec.seed,
        "pipeline": hashlib.blake2b(what.encode(), digest_size=8).hexdigest(),
    }
