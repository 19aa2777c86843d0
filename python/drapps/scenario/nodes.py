"""Typed values out of a YAML file. Complaints name the file, line, key and what is allowed.

scenarios/slow.yaml:7: events.at: must be a number of at least 0, not 'soon'
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from drapps.arguments import size_of
from drapps.errors import PipelineError

_LONGEST = 1e9


@dataclass(frozen=True)
class Node:
    """A value in a file, and where it stands.

    Attributes:
        file: as users named it.
        key: the keys that lead to it, joined by dots.
        raw: PyYAML's node.
    """

    file: str
    key: str
    raw: Any

    def fail(self, why: str) -> NoReturn:
        """Complains about this value.

        Raises:
            PipelineError: always.
        """
        line = self.raw.start_mark.line + 1
        key = f"{self.key}: " if self.key else ""
        raise PipelineError(f"{self.file}:{line}: {key}{why}")

    def shown(self) -> str:
        """The value in a complaint."""
        if self.raw.id == "scalar":
            return repr(self.raw.value)
        return {"mapping": "a mapping", "sequence": "a list"}[self.raw.id]

    def fields(self, allowed: Iterable[str], required: Iterable[str] = ()) -> dict[str, Node]:
        """The values of a mapping, all of whose keys are known."""
        known = list(allowed)
        if self.raw.id != "mapping":
            self.fail(f"must be a mapping of {listed(known)}, not {self.shown()}")
        values: dict[str, Node] = {}
        for raw_key, raw in self.raw.value:
            name = str(raw_key.value) if raw_key.id == "scalar" else "a key"
            key = Node(self.file, self._below(name), raw_key)
            if raw_key.id != "scalar" or name not in known:
                key.fail(f"there is no such key here; there are {listed(known)}")
            if name in values:
                key.fail("stands here twice; leave one of them out")
            values[name] = replace(key, raw=raw)
        for name in required:
            if name not in values:
                self.fail(f"{name} is missing; there are {listed(known)}")
        return values

    def _below(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name

    def items(self) -> list[Node]:
        """The values of a list."""
        if self.raw.id != "sequence":
            self.fail(f"must be a list, not {self.shown()}")
        return [replace(self, raw=raw) for raw in self.raw.value]

    def text(self) -> str:
        """Words, of which there is at least one."""
        if self.raw.id != "scalar" or not str(self.raw.value).strip():
            self.fail(f"must be words, not {self.shown()}")
        return str(self.raw.value).strip()

    def one_of(self, names: Iterable[str]) -> str:
        """One of these words."""
        known = list(names)
        if self.raw.id != "scalar" or self.raw.value not in known:
            self.fail(f"must be {' or '.join(known)}, not {self.shown()}")
        return str(self.raw.value)

    def flag(self) -> bool:
        """``true`` or ``false``."""
        return self.one_of(("true", "false")) == "true"

    def number(self, least: float = 0.0, most: float = math.inf) -> float:
        """A number within bounds."""
        value = self._number()
        if value is None or not least <= value <= min(most, _LONGEST * 1e6):
            bound = f"from {least:g} to {most:g}" if most < math.inf else f"of at least {least:g}"
            self.fail(f"must be a number {bound}, not {self.shown()}")
        return value

    def duration(self) -> float:
        """Seconds, more than none."""
        seconds = self.number(0, _LONGEST)
        if seconds <= 0:
            self.fail(f"must be more than 0 seconds, not {self.shown()}")
        return seconds

    def whole(self, least: int = 1, most: int = 2**40) -> int:
        """A whole number within bounds."""
        value = self._number()
        if value is None or value != int(value) or not least <= value <= most:
            self.fail(f"must be a whole number from {least} to {most}, not {self.shown()}")
        return int(value)

    def size(self) -> int:
        """Bytes, as `drapps.arguments.size_of` reads them."""
        try:
            count = size_of(str(self.raw.value), letters=True) if self.raw.id == "scalar" else 0
        except ValueError:
            count = 0
        if not count:
            self.fail(f"must be bytes, such as 512M, not {self.shown()}")
        return count

    def cores(self, whole: bool = False) -> float | str:
        """A number of cores, or a share of those of the machine such as 50%."""
        text = str(self.raw.value) if self.raw.id == "scalar" else ""
        if text.endswith("%"):
            share = replace(self, raw=_scalar(self.raw, text[:-1]))
            return f"{share.number(0, 100):g}%"
        return float(self.whole(0, 4096)) if whole else self.number(0, 4096)

    def _number(self) -> float | None:
        # YAML 1.1 takes 5e-3 for a word, and 0x10, 1_000 and 1:30 for numbers.
        text = str(self.raw.value) if self.raw.id == "scalar" and self.raw.style is None else ""
        if not text or "_" in text:
            return None
        try:
            value = float(text)
        except ValueError:
            return None
        return value if math.isfinite(value) else None


def root_of(text: str, file: str) -> Node:
    """The whole of a file.

    Raises:
        PipelineError: no YAML; or PyYAML is not installed, which comes with ``drapps[play]``.
    """
    try:
        import yaml
    except ImportError:
        raise PipelineError(
            "scenarios are YAML files, which PyYAML reads: pip install drapps[play]"
        ) from None
    try:
        raw = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise PipelineError(f"{file}:{line}: this is no YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        problem = getattr(error, "reason", "it is nested too deeply")
        raise PipelineError(f"{file}:1: this is no YAML: {problem}") from None
    if raw is None:
        raise PipelineError(f"{file}:1: the file is empty")
    return Node(file, "", raw)


def root_of_named(name: str | os.PathLike[str], shipped: Mapping[str, Path], what: str) -> Node:
    """The whole of a file that comes with DRAPPS, or of another.

    Args:
        name: of one of those that are shipped, or the path of a file, which has a dot or a slash.
        shipped: files by name.
        what: they are.

    Raises:
        PipelineError: as of `root_of`; there is none of this name, or it is no text.
        OSError: the file cannot be read.
    """
    text = os.fspath(name)
    if text in shipped:
        file, label = shipped[text], f"{text}.yaml"
    elif os.sep in text or "." in text:
        file, label = Path(text), text
    else:
        raise PipelineError(f"there is no {what} {text}; there are {listed(shipped)}")
    try:
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PipelineError(f"{label}:1: this is no text in UTF-8") from None
    return root_of(content, label)


def yaml_files(folder: Path) -> dict[str, Path]:
    """The files of a folder, by their names without an ending."""
    return {file.stem: file for file in sorted(folder.glob("*.yaml"), key=lambda file: file.stem)}


def listed(names: Iterable[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names)


def _scalar(raw: Any, value: str) -> Any:
    copied = type(raw)(raw.tag, value, raw.start_mark, raw.end_mark)
    copied.style = raw.style
    return copied
