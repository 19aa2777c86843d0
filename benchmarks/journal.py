"""What has been measured so far, kept in a file as it comes, so that a run can be taken up again.

    build/bench/SCENARIO/rounds.jsonl      a line saying what was asked for, then one a result

A run that asks for the same continues the file; one that asks for anything else begins it anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.contestant import ROOT


def code(sources: Iterable[Path], drapps: Path = ROOT / "python/drapps") -> str:
    """A hash of a scenario's own sources and of DRAPPS, or a folder of it.

    Results of others do not count.
    """
    digest = hashlib.sha256()
    ours = [*sorted(drapps.rglob("*.py")), *sorted(drapps.glob("_core.*.so"))]
    for source in [*sources, ROOT / "benchmarks/feed.py", *ours]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


class Journal:
    """Results by key. `asked` is what they depend on; `fresh` forgets them in any case."""

    def __init__(self, file: Path, asked: dict[str, Any], fresh: bool) -> None:
        self._file = file
        self._results: dict[tuple[Any, ...], Any] = {}
        head = json.dumps({"asked": asked}, sort_keys=True)
        lines = file.read_text().splitlines() if file.is_file() and not fresh else []
        if lines and lines[0] == head:
            for line in lines[1:]:
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:  # cut off when the run was interrupted
                    continue
                self._results[tuple(entry["key"])] = entry["result"]
        self.continued = len(self._results)
        kept = [json.dumps({"key": key, "result": result}) for key, result in self._results.items()]
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in [head, *kept]))
        new.replace(file)

    def get(self, *key: Any) -> Any:
        """The result kept under the key, or None."""
        return self._results.get(key)

    def keep(self, *key: Any, result: Any) -> None:
        """Keeps a result at once."""
        self._results[key] = result
        with self._file.open("a") as file:
            file.write(json.dumps({"key": key, "result": result}) + "\n")


def begin(name: str, file: Path, asked: dict[str, Any], fresh: bool) -> Journal:
    """The journal of a scenario, which says whether it goes on with an interrupted run."""
    journal = Journal(file, asked, fresh)
    if journal.continued:
        print(f"{name}: continues a run, with {journal.continued} results (--fresh begins anew)")
    return journal
