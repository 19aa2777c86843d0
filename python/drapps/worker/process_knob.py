"""What is decided about the worker processes of a loader. Outlives passes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drapps import _core
from drapps.arguments import json_of
from drapps.arguments import path as path_of
from drapps.errors import PipelineError
from drapps.policy import Policy, choice, to_json
from drapps.recording import Recording
from drapps.report import Explanation, Stats


@dataclass
class ProcessKnob:
    """The knob `processes` of a loader whose dataset is Python code, and its control plane.

    Attributes:
        policy: what moves it; None: the default.
        given: processes to start with; 0 where nothing says so.
        frozen: nothing moves it; see `freeze`.
        own_state: what its dataset keeps on itself, by path; True where what follows depends on how
            often it has changed.
    """

    policy: Policy | None = None
    given: int = 0
    frozen: bool = False
    own_state: dict[str, bool] = field(default_factory=dict)
    _remarked: set[str] = field(default_factory=set)
    _control: _core.ProcessControl | None = None

    @classmethod
    def from_settings(
        cls, policy: Policy | None, settings: Mapping[str, Any] | None
    ) -> ProcessKnob:
        """Begins with what `settings` gave.

        Raises:
            PipelineError: the settings are of something else.
        """
        if settings is None:
            return cls(policy)
        text = json_of("settings", settings)
        try:
            processes = _core.processes_of_settings(text)
        except ValueError as error:
            raise PipelineError(f"settings={settings!r}: {error}") from None
        if processes < 1:
            raise PipelineError(f"settings={settings!r} leave no process; give 1 or more")
        return cls(policy, processes)

    def __deepcopy__(self, memo: dict[int, Any]) -> ProcessKnob:
        """Another loader's knob: it begins with as many processes."""
        return ProcessKnob(self.policy, self.processes, self.frozen, dict(self.own_state))

    @property
    def control(self) -> _core.ProcessControl:
        """The control plane: made by who asks first, and in each process a log of its own."""
        if self._control is None:
            self._control = _core.ProcessControl(to_json(self.policy, "processes"))
            self._control.freeze(self.frozen)
        return self._control

    @property
    def processes(self) -> int:
        """The knob; 0 where no process was started yet and nothing was given."""
        return (0 if self._control is None else self._control.processes) or self.given

    def freeze(self, frozen: bool) -> None:
        """From now on nothing moves the knob, or something does again."""
        self.frozen = frozen
        self.control.freeze(frozen)

    def set_policy(self, policy: Policy | None) -> None:
        """From now on `policy` decides.

        Raises:
            PipelineError: there is no such policy.
        """
        text = to_json(policy, "processes")
        if self._control is not None:
            self._control.set_policy(text)
        self.policy = policy

    def record(self, path: str | os.PathLike[str], plan: Mapping[str, Any]) -> Recording:
        """Records every decision about the knob into a new file.

        Raises:
            PipelineError: it is recorded already, or there is a file of this name.
            OSError: the file cannot be made.
        """
        name = path_of("path", path)
        try:
            self.control.record(os.fsencode(name), json.dumps({"plan": plan}, default=str))
        except ValueError as error:
            raise PipelineError(str(error)) from None
        return Recording(self.control, name)

    def settings(self) -> dict[str, Any]:
        """The knob as it stands; JSON-able.

        Raises:
            PipelineError: no process was started yet.
        """
        if not self.processes:
            raise PipelineError("there are no settings before the first iter() with workers")
        settings: dict[str, Any] = json.loads(_core.settings_of_processes(self.processes))
        return settings

    def note_own_state(self, changed: Mapping[str, bool]) -> list[str]:
        """Takes note of what the dataset keeps on itself; gives what was not known."""
        unknown = [path for path in changed if path not in self.own_state]
        for path, lasting in changed.items():
            self.own_state[path] = lasting or self.own_state.get(path, False)
        return unknown

    @property
    def lasting_state(self) -> list[str]:
        """What the dataset keeps that depends on how often it has changed."""
        return [path for path, lasting in self.own_state.items() if lasting]

    def remark(self, why: str, **more: Any) -> None:
        """Notes something that moved no knob."""
        self.control.remark(why, json.dumps(more))

    def remark_once(self, why: str) -> bool:
        """A remark that is made once; whether it was new."""
        new = why not in self._remarked
        if new:
            self._remarked.add(why)
            self.remark(why)
        return new

    def stats(self, slowest: Sequence[Sequence[float]]) -> Stats:
        """What was counted.

        Args:
            slowest: ``[seconds, position]`` of the slowest samples.
        """
        samples = [
            {
                "record": None,
                "name": f"position {position} of an epoch",
                "epoch": None,
                "position": position,
                "rows": 1,
                "bytes": 0,
                "seconds": took,
                "slow": "python",
                "lanes": {"python": took},
            }
            for took, position in slowest
        ]
        return Stats.of_core(self.control.stats(), slowest=samples)

    def explain(
        self, reasons: Sequence[str], of_pass: Mapping[str, Any], forms: Mapping[str, Any]
    ) -> Explanation:
        """What runs and why.

        Args:
            reasons: for which it is Python code that runs; none where text is lifted.
            of_pass: how the latest pass ran; empty before the first.
            forms: what is kept from epoch to epoch.
        """
        plan: dict[str, Any] = {"path": "python" if reasons else "text", "reasons": list(reasons)}
        plan |= json.loads(_core.limits())
        if self.processes > 0:
            plan["settings"] = self.settings()
        described = {"plan": plan | dict(of_pass), "forms": forms, "decisions": self.log()}
        return Explanation.from_json(described, choice(self.policy, "processes"))

    def log(self) -> dict[str, Any]:
        """The decision log."""
        log: dict[str, Any] = json.loads(self.control.log())
        return log
