"""What the state of a pass over Python code must hold, and which loaders can go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drapps import state
from drapps.errors import StateError
from drapps.torch.python_order import PythonOrder

KIND = "drapps.torch.DataLoader/python"

_NUMBERS = 1 << 63  # that torch draws
_SEEDS = 1 << 64  # that a user gives


def check(saved: Mapping[str, Any], order: PythonOrder) -> tuple[int, int]:
    """The epoch and the position of a saved pass in such an order.

    Raises:
        StateError: it is no saved pass in such an order.
    """
    place = state.check(saved, KIND, order.identity)
    within, workers = bool(saved.get("batches")), order.places.field
    if (size := order.positions) is not None and place[1] > size:
        raise StateError(f"the state's position is {place[1]}, in an order of {size}")
    state.whole(saved, "batches", _NUMBERS)
    if within and saved.get("gaps", False) is not False:
        raise StateError(
            "the state was saved while batches of in_order=False had overtaken others, which would "
            "be lost: save it at the end of an epoch, or use in_order=True"
        )
    if within or "seed" in saved:
        state.whole(saved, "seed", _NUMBERS)
    if within or order.kind.begun_in(saved):
        for name, kind in order.kind.needs(saved).items():
            state.typed(saved, name, kind)
    if "sampler_seed" in saved:
        state.whole(saved, "sampler_seed", _NUMBERS)
    for name in ("order_seed", "given_seed"):
        if name in saved:
            state.whole(saved, name, _SEEDS)
    if workers in saved or (within and order.stream):
        places = state.typed(saved, workers, list)
        count = max(1, order.workers) if within and order.stream else len(places)
        if len(places) != count or not all(_is_place(each, order.stream) for each in places):
            raise StateError(f"the state's {workers} are damaged: it was cut or edited")
        if within and order.stream:
            _check_batch_size(saved, places, order)
        elif within:
            _check_same_batches(saved, len(places), order)
        state.whole(saved, "turn", max(1, count))
    return place


def _check_batch_size(saved: Mapping[str, Any], places: list[Any], order: PythonOrder) -> None:
    """Streams without a state of their own are run again, batch by batch."""
    size = saved.get("batch_size", order.batch_size)  # earlier releases did not save it
    again = any(place.get("state") is None and not place.get("ended") for place in places)
    if again and size != order.batch_size:
        raise StateError(
            f"the state's batch_size is {size!r}, this loader's {order.batch_size!r}: a stream "
            "goes on at another one by a state_dict() of its own alone, and this one has none"
        )


def _check_same_batches(saved: Mapping[str, Any], workers: int, order: PythonOrder) -> None:
    """What is drawn may depend on which batches there are, and on who makes them."""
    own = own_state(saved)
    why = "the dataset's own __getitems__ draws for whole batches" if order.whole else ""
    if own:
        why = f"the dataset keeps {', '.join(own)} on itself"
    elif order.serial:
        why = "in torch_order each worker draws its own numbers"
    size = saved.get("batch_size", order.batch_size)  # earlier releases did not save it
    if why and size != order.batch_size:
        raise StateError(
            f"the state's batch_size is {size!r}, this loader's {order.batch_size!r}, and {why}: "
            "the rest of the epoch needs the same one"
        )
    if (own or order.serial) and workers != order.workers:
        raise StateError(
            f"the state's num_workers is {workers}, this loader's {order.workers}, and {why}: "
            "the rest of the epoch needs as many"
        )


def own_state(saved: Mapping[str, Any]) -> list[str]:
    """What the datasets kept on themselves that the rest of a saved pass depends on, by path.

    Raises:
        StateError: the field is damaged.
    """
    if "own_state" not in saved:
        return []
    paths: list[str] = state.typed(saved, "own_state", list)
    if not all(isinstance(path, str) for path in paths):
        raise StateError(f"the state's own_state is {paths!r}, not a list of names: it was edited")
    return paths


def _is_place(saved: Any, of_stream: bool) -> bool:
    """Whether it may be the place of a worker."""
    if not isinstance(saved, Mapping):
        return False
    if not all(isinstance(saved.get(name, {}), Mapping) for name in ("drawn", "began")):
        return False
    batches = saved.get("batches", -1 if of_stream else 0)
    return isinstance(batches, int) and batches >= 0 and isinstance(saved.get("ended", True), bool)
