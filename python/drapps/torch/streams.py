"""Iterable datasets that go on in the middle: by their own state, or by running again up to it.

The protocol is torchdata's: ``state_dict()`` and ``load_state_dict()`` of the dataset, or of the
iterator that it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drapps.attributes import has_method
from drapps.errors import StateError


def state_owner(fetcher: Any) -> Any:
    """What knows the state of the stream that a stock `fetcher` reads; None where nothing does."""
    owners = (fetcher.dataset_iter, fetcher.dataset)
    return next((owner for owner in owners if has_method(owner, "state_dict")), None)


def unsharded(dataset: Any, workers: int) -> str:
    """What to say of a stream that is the same in all workers."""
    kind = type(dataset)
    return (
        f"{kind.__module__}.{kind.__qualname__} has not asked torch.utils.data.get_worker_info() "
        f"which of {workers} workers it is in, so each of them gives all of it: "
        "let __iter__ give each worker its share, or set num_workers=1"
    )


def fetcher_at(make: Callable[[], Any], dataset: Any, stream: Mapping[str, Any], size: Any) -> Any:
    """A stock fetcher that goes on at a place.

    Args:
        make: makes one at the beginning of the stream.
        dataset: that it reads.
        stream: ``state``, if it has one; else ``batches`` that are made again for nobody.
        size: what a fetcher is given per batch.
    """
    if stream.get("state") is None:
        fetcher = make()
        for _ in range(stream.get("batches", 0)):
            if not _fetched(fetcher, size):
                break
        return fetcher
    if has_method(dataset, "load_state_dict"):
        _load(dataset, stream["state"])
        return make()
    fetcher = make()
    _load(fetcher.dataset_iter, stream["state"])
    return fetcher


def _fetched(fetcher: Any, size: Any) -> bool:
    """Makes a batch for nobody, if there is one."""
    try:
        fetcher.fetch(size)
    except StopIteration:
        return False
    except Exception:
        return True  # it failed the first time, too
    return True


def _load(owner: Any, state: Any) -> None:
    try:
        owner.load_state_dict(state)
    except Exception as error:
        name = f"{type(owner).__qualname__}.load_state_dict"
        raise StateError(f"the state's streams are refused by {name}: {error!r}") from error
