"""How a suite runs its commands and counts their tests."""

import contextlib
import hashlib
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build/test"
CORES = len(os.sched_getaffinity(0))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "drapps" / "tests"
# Hundreds of interpreters are started, and each would compile the package anew.
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
QUIET = 900  # many times what any single test or compilation takes on a slow and busy machine
SIMD_LEVELS = {
    "portable": set(),
    "avx2": {"avx2", "bmi1", "bmi2", "fma"},
    "avx512": {"avx512bw", "avx512vl", "avx512dq"},
    "avx512vbmi": {"avx512vbmi", "avx512_vbmi2", "avx512_vnni"},
}
RUNNING: set[int] = set()  # process groups of the commands


def end_with_commands(number: int, _frame: FrameType | None) -> None:
    """Handle a signal that ends the run: no command goes on without it, and writes into logs."""
    for group in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    os._exit(128 + number)


@dataclass
class Counts:
    """Tests of a suite by outcome."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: "Counts") -> "Counts":
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self


@dataclass
class Run:
    """One suite on its way: its log and what it has counted."""

    name: str
    full: bool
    log: TextIO
    nice: int = 0
    kept: Path | None = None  # a folder for the counts of parts that have passed at this commit
    cpu: float = 0.0  # seconds of all its commands
    counts: Counts = field(default_factory=Counts)
    remembered: int = 0  # of those that passed or were skipped, in runs before
    failures: list[str] = field(default_factory=list)  # which, and the end of what they said

    def command(self, *words: str | Path, **env: str) -> int:
        """Run a command and return its exit status.

        Raises:
            TimeoutError: It printed nothing for too long. It and its children are gone.
        """
        shown = " ".join([f"{k}={v}" for k, v in env.items()] + [str(w) for w in words])
        print(f"$ {shown}", file=self.log, flush=True)
        process = subprocess.Popen(
            ["nice", "-n", str(self.nice), *words] if self.nice else words,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=os.environ | BYTECODE | env,
            start_new_session=True,
        )
        RUNNING.add(process.pid)
        try:
            process.returncode, used = self._wait(process.pid)
        except TimeoutError:
            raise TimeoutError(f"printed nothing for {QUIET} s: {shown}") from None
        finally:
            RUNNING.discard(process.pid)
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.cpu += used.ru_utime + used.ru_stime
        return process.returncode

    def _wait(self, pid: int) -> tuple[int, resource.struct_rusage]:
        """Exit status and use of a child that goes on printing."""
        size, since = -1, 0.0
        while True:
            done, status, used = os.wait4(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), used
            if (now := os.fstat(self.log.fileno()).st_size) != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > QUIET:
                raise TimeoutError
            time.sleep(0.05)

    def must(self, *words: str | Path, **env: str) -> None:
        """Run a command whose failure ends the suite."""
        if status := self.command(*words, **env):
            raise RuntimeError(f"exit status {status}: {' '.join(map(str, words))}")

    def script(self, *words: str | Path) -> None:
        """Run a tool of the project that ends by counting what it did."""
        start = self.log.tell()
        status = self.command(sys.executable, *words)
        output = Path(self.log.name).read_text(errors="replace")[start:]
        matches = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.MULTILINE)
        counts = Counts(*map(int, matches[-1])) if matches else Counts()
        if status and not counts.failed:
            counts.failed = 1
        if counts.failed:
            self.failures.append(f"{' '.join(map(str, words))}\n{output[-600:]}")
        self.counts += counts

    def report(self, status: int, junit: Path) -> None:
        """Count what a test runner wrote in JUnit's format."""
        counts = Counts()
        root = ElementTree.parse(junit).getroot() if junit.exists() else ElementTree.Element("none")
        for case in root.iter("testcase"):
            failure = next((each for each in case if each.tag in ("failure", "error")), None)
            if failure is not None:
                counts.failed += 1
                reason = failure.text or failure.get("message") or ""
                self.failures.append(f"{case.get('classname')}.{case.get('name')}\n{reason[-600:]}")
            elif case.find("skipped") is not None:
                counts.skipped += 1
            else:
                counts.passed += 1
        if status and not counts.failed:  # for example, no test was found
            counts.failed = 1
            output = Path(self.log.name).read_text(errors="replace").split("\n$ ")[-1]
            crash = output.find("Fatal Python error")  # the stack of each thread follows
            end = output[crash : crash + 5000] if crash >= 0 else output[-600:]
            self.failures.append(f"{junit.stem}: exit status {status}\n{end}")
        self.counts += counts

    def pytest(self, *words: str, **env: str) -> None:
        """Run pytest, long matrices only in a full run."""
        junit = LOGS / f"{self.name}.xml"
        junit.unlink(missing_ok=True)
        marks = ["-m", "full or not full"] if self.full else []
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={junit}", *marks, *words]
        self.report(self.command(*command, **env), junit)

    def pytest_by_file(self, words: list[str], files: list[str], **env: str) -> None:
        """Run pytest on one file after the other, but for those that passed at this commit."""
        for file in files:
            kept = self.kept and self.kept / f"{Path(file).stem}.json"
            if kept and kept.exists():
                self.counts += (before := Counts(*json.loads(kept.read_text())))
                self.remembered += before.passed + before.skipped
                continue
            so_far, self.counts = self.counts, Counts()
            self.pytest(*words, file, **env)
            if kept and not self.counts.failed:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(astuple(self.counts)))
            self.counts += so_far

    def gtest(self, preset: str, layers: list[str], *words: str, **env: str) -> None:
        """Run the C++ tests of layers: a process per test would take sanitizers twice as long."""

        def test(program: Path) -> Run:
            name = f"{self.name}.{program.stem}"
            with (LOGS / f"{name}.log").open("w") as log:
                part = Run(name, self.full, log, self.nice)
                part.program(program, *words, **env)
            return part

        programs = [ROOT / f"build/{preset}/src/drapps/{layer}_test" for layer in layers]
        programs.sort(key=lambda path: -path.stat().st_size)  # so that all cores end together
        with ThreadPoolExecutor(CORES) as pool:
            for part in pool.map(test, programs):
                self.log.write(Path(part.log.name).read_text(errors="replace"))
                self.counts += part.counts
                self.cpu += part.cpu
                self.remembered += part.remembered
                self.failures += part.failures

    def program(self, program: Path, *words: str, **env: str) -> None:
        """Run a program of C++ tests, or remember that it has passed."""
        before = remembered(program, *words, **env)
        if before.exists() and not self.full:
            self.counts += Counts(*json.loads(before.read_text()))
            self.remembered = self.counts.passed + self.counts.skipped
            before.touch()
            print(f"{program}: as when it passed here before", file=self.log, flush=True)
            return
        junit = LOGS / f"{self.name}.xml"
        junit.unlink(missing_ok=True)
        self.report(self.command(program, f"--gtest_output=xml:{junit}", *words, **env), junit)
        if not self.counts.failed:
            before.parent.mkdir(parents=True, exist_ok=True)
            before.write_text(json.dumps(astuple(self.counts)))

    def build(self, preset: str, *targets: str) -> None:
        """Build everything of a preset, or some of it."""
        self.must("cmake", "--preset", preset)
        choice = ["--target", *targets] if targets else []
        self.must("cmake", "--build", "--preset", preset, *choice)

    def simd_levels(self, preset: str, layers: list[str], **env: str) -> None:
        """Run C++ tests at the best SIMD level, and those that depend on it at each level."""
        self.gtest(preset, layers, **env)
        cpu = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text()))
        for level, flags in SIMD_LEVELS.items():
            if flags <= cpu:
                self.gtest(preset, ["kernel", "decode"], DRAPPS_SIMD=level, **env)
            else:
                print(f"{level}: this CPU has none", file=self.log)
                self.counts.skipped += 1


def remembered(program: Path, *words: str, **env: str) -> Path:
    """Where it stands how many tests of a program have passed here, if all have."""
    digest = hashlib.sha256(program.read_bytes())
    digest.update(json.dumps([machine(), words, sorted(env.items())]).encode())
    return CACHE / digest.hexdigest()


def machine() -> dict[str, object]:
    """What the suites ran on."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": CORES,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
