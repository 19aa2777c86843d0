"""What a stream or a sampler of the user's tells of its own state, or why it tells nothing.

Nobody may want it, so what is raised meanwhile waits until somebody asks for the state.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from drapps.worker.serialise import Envelope, Reduce, UnpicklableError, dump, load


class NoStateError(Exception):
    """There is no state, as the sentence says."""


class ToldState:
    """The state of one moment."""

    @abstractmethod
    def value(self) -> Any:
        """What ``state_dict()`` gave; None is no state.

        Raises:
            NoStateError: it gave none.
        """


@dataclass(frozen=True)
class KeptState(ToldState):
    """A state as it was when it was asked for."""

    kept: Any

    def value(self) -> Any:
        """A copy of what ``state_dict()`` gave, which others may change."""
        return copy.deepcopy(self.kept)


@dataclass(frozen=True)
class UntoldState(ToldState):
    """No state, and why there is none."""

    why: str

    def value(self) -> Any:
        """Raises why there is no state."""
        raise NoStateError(self.why)


@dataclass(frozen=True)
class LiveState(ToldState):
    """The state of the moment in which it is wanted: nothing has run ahead of the user."""

    owner: Any

    def value(self) -> Any:
        """Asks the owner for its state."""
        return _copied(self.owner)


@dataclass(frozen=True)
class SentState(ToldState, Envelope):
    """A state on its way from a process: a pickle and its buffers."""

    pickled: list[Any]

    def value(self) -> Any:
        """Unpickles it."""
        try:
            return load(self.pickled)
        except Exception as error:
            raise NoStateError(
                f"the state of the dataset cannot be unpickled: {error!r}"
            ) from error

    def parts(self) -> list[tuple[str, Any]]:
        """Nothing that could fail to pickle."""
        return []


def kept_state(owner: Any) -> ToldState:
    """What `owner` tells now, for later."""
    try:
        return KeptState(_copied(owner))
    except NoStateError as none:
        return UntoldState(str(none))


def sent_state(owner: Any, reduce: Reduce) -> ToldState:
    """What `owner` tells now, for another process."""
    try:
        first, *buffers = dump(owner.state_dict(), reduce, _name_of(owner))
        return SentState([bytes(first), *buffers])
    except UnpicklableError as error:
        return UntoldState(str(error))
    except Exception as error:
        return UntoldState(_none_of(owner, error))


def _copied(owner: Any) -> Any:
    try:
        return copy.deepcopy(owner.state_dict())
    except Exception as error:
        raise NoStateError(_none_of(owner, error)) from error


def _none_of(owner: Any, error: Exception) -> str:
    return f"{_name_of(owner)} gives no state: {error!r}"


def _name_of(owner: Any) -> str:
    return f"{type(owner).__qualname__}.state_dict()"
