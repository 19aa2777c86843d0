"""What all reports have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar

from drapps import deprecation

R = TypeVar("R", bound="Report")


@dataclass(frozen=True, eq=False, repr=False)
class Report(dict[str, Any]):
    """Attributes, and a dictionary of the same content, which is JSON-able.

    An optional attribute is None where there is nothing of the kind; it is no key where nothing was
    said of it. A key for which the class has no attribute is in the dictionary alone.
    """

    _OLD_KEYS: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is MISSING:
                self[field.name] = value

    @classmethod
    def from_json(cls: type[R], facts: Mapping[str, Any]) -> R:
        """A report of what the core says."""
        names = [field.name for field in fields(cls) if field.init]
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        report = cls(**{name: facts.get(name) for name in names if name in facts or name in needed})
        report.update((name, value) for name, value in facts.items() if name not in report)
        return report

    def to_json(self) -> dict[str, Any]:
        """Its content as plain dictionaries and lists."""
        return {name: _plain(value) for name, value in self.items()}

    def get(self, key: str, default: Any = None, /) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self or key in self._OLD_KEYS else default

    def __missing__(self, key: str) -> Any:
        if key not in self._OLD_KEYS:
            raise KeyError(key)
        new = self._OLD_KEYS[key]
        deprecation.warn(f"the key {key!r}", repr(new))
        return self[new]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__name__}({inside})"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def mib(count: float) -> str:
    """So many bytes in MiB."""
    return f"{count / (1 << 20):,.1f} MiB"


def page(rows: Iterable[tuple[str, str]]) -> str:
    """Lines of a name and what is said of it, one below the other."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}".rstrip() for name, text in rows)
