"""Run the test suites, each within its time budget, and some side by side.

A suite fails where one of its tests does, and where it takes longer than its budget: it is then
stopped. What a suite prints goes to build/test/SUITE.log; the end of it is shown on failure. The
last line reads ``N passed, N failed, N skipped``, summed over what the suites really ran.
"""

import argparse
import datetime
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/test"
CORES = len(os.sched_getaffinity(0))


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
    """One suite on its way: its log, its deadline and what it has counted."""

    name: str
    full: bool
    deadline: float
    log: TextIO
    counts: Counts = field(default_factory=Counts)

    def command(self, *words: str | Path, **env: str) -> int:
        """Run a command until the deadline and return its exit status.

        Raises:
            TimeoutError: The deadline passed. The command and its children are gone.
        """
        shown = " ".join([f"{k}={v}" for k, v in env.items()] + [str(w) for w in words])
        print(f"$ {shown}", file=self.log, flush=True)
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=os.environ | env,
            start_new_session=True,
        )
        try:
            return process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError(shown) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def must(self, *words: str | Path, **env: str) -> None:
        """Run a command whose failure ends the suite."""
        if status := self.command(*words, **env):
            raise RuntimeError(f"exit status {status}: {' '.join(map(str, words))}")

    def script(self, *words: str | Path) -> None:
        """Run a tool of the project that ends by counting what it did."""
        start = self.log.tell()
        status = self.command(sys.executable, *words)
        output = Path(self.log.name).read_text(errors="replace")[start:]
        found = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.MULTILINE)
        counts = Counts(*map(int, found[-1])) if found else Counts()
        if status and not counts.failed:
            counts.failed = 1
        self.counts += counts

    def report(self, status: int, junit: Path) -> None:
        """Count what a test runner wrote in JUnit's format."""
        counts = Counts()
        root = ElementTree.parse(junit).getroot() if junit.exists() else ElementTree.Element("none")
        for case in root.iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                counts.failed += 1
            elif case.find("skipped") is not None:
                counts.skipped += 1
            else:
                counts.passed += 1
        if status and not counts.failed:  # for example, no test was found
            counts.failed = 1
        self.counts += counts

    def pytest(self, *words: str) -> None:
        """Run pytest, long matrices only in a full run."""
        junit = LOGS / f"{self.name}.xml"
        junit.unlink(missing_ok=True)
        marks = ["-m", "full or not full"] if self.full else []
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={junit}", *marks, *words]
        self.report(self.command(*command), junit)

    def ctest(self, preset: str, *words: str, **env: str) -> None:
        """Run the C++ tests of a build."""
        junit = LOGS / f"{self.name}.xml"
        junit.unlink(missing_ok=True)
        command = ["ctest", "--preset", preset, f"-j{CORES}", "--output-on-failure", *words]
        self.report(self.command(*command, "--output-junit", str(junit), **env), junit)

    def build(self, preset: str) -> None:
        """Build everything of a preset."""
        self.must("cmake", "--preset", preset)
        self.must("cmake", "--build", "--preset", preset)

    def simd_levels(self, preset: str, **env: str) -> None:
        """Run all C++ tests at the best SIMD level, and those that depend on it at each level."""
        self.ctest(preset, **env)
        cpu = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text()))
        for level, flags in SIMD_LEVELS.items():
            if flags <= cpu:
                self.ctest(preset, "-L", "^(kernel|decode)$", DRAPPS_SIMD=level, **env)
            else:
                print(f"{level}: this CPU has none", file=self.log)
                self.counts.skipped += 1


SIMD_LEVELS = {
    "portable": set(),
    "avx2": {"avx2", "bmi1", "bmi2", "fma"},
    "avx512": {"avx512bw", "avx512vl", "avx512vbmi", "avx512_vbmi2", "avx512_vnni"},
}


def layering(run: Run) -> None:
    """Check the includes against the order of the layers."""
    run.pytest("tests/layering")


def build(run: Run) -> None:
    """Build the core, its tests and the extension module."""
    run.build("release")
    run.must("tools/setup.sh", "extension")
    run.counts.passed = 1


def lint(run: Run) -> None:
    """Check style, types and what clang-tidy finds."""
    run.script("tools/lint.py")


def cxx(run: Run) -> None:
    """Test the core as it is shipped."""
    run.simd_levels("release", **({"DRAPPS_TEST_FULL": "1"} if run.full else {}))


PROCESSES = [
    "python/tests/torch_contract",
    "python/tests/test_engine.py",
    "python/tests/test_engine_memory.py",
    "python/tests/test_engine_resume.py",
    "python/tests/trainers",
    "tests/fault_matrix",
]


def python(run: Run) -> None:
    """Test the Python package."""
    ignored = [f"--ignore={path}" for path in ["tests/layering", *PROCESSES]]
    run.pytest("python/tests", "tests", *ignored)


def processes(run: Run) -> None:
    """Test Python datasets in worker processes: the contract, restarts, faults, trainers."""
    run.pytest(*PROCESSES)


def soak(run: Run) -> None:
    """Kill worker processes at random; every stream must come out exact."""
    minutes = "10" if run.full else "2"
    run.must(sys.executable, "tools/soak.py", "--minutes", minutes, PYTHONPATH="python")
    run.counts.passed = 1


def asan(run: Run) -> None:
    """Test the core with the address and undefined-behaviour sanitizers."""
    run.build("asan")
    # The tests of kernels and decoders name every level themselves.
    test = run.simd_levels if run.full else run.ctest
    test("asan", UBSAN_OPTIONS="print_stacktrace=1")


def fuzz(run: Run) -> None:
    """Fuzz every parser for a short time."""
    run.script("tools/fuzz.py", "--seconds", "120" if run.full else "10")


def tsan(run: Run) -> None:
    """Test the layers that have threads with the thread sanitizer."""
    run.build("tsan")
    options = {"TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1 die_after_fork=0"}
    run.ctest("tsan", "-LE", "^decode$", **options)
    run.ctest("tsan", "-R", "^MemoryIndexStore", **options)  # all of decode that has threads


@dataclass
class Suite:
    """A suite and the seconds it may take, from nothing built, on two cores."""

    run: Callable[[Run], None]
    budget: int
    full_budget: int
    beside: bool = False  # it runs at the same time as the one before it


SUITES = [
    Suite(layering, 20, 20),
    Suite(build, 360, 360),
    Suite(lint, 360, 360),
    Suite(cxx, 60, 300),
    Suite(python, 480, 3600),
    Suite(processes, 480, 3600, beside=True),
    Suite(soak, 420, 3600, beside=True),
    Suite(asan, 420, 600),
    Suite(fuzz, 70, 3600),
    Suite(tsan, 320, 600),
]  # `make test` is to end within 20 minutes; budgets leave room for a busy machine and empty caches


def run_suite(suite: Suite, full: bool) -> dict[str, object]:
    """Run one suite, print how it went and return its row of the result."""
    name = suite.run.__name__
    budget = suite.full_budget if full else suite.budget
    print(f"{name}: {suite.run.__doc__}", flush=True)
    start, cpu = time.monotonic(), cpu_seconds()
    log = LOGS / f"{name}.log"
    with log.open("w") as file:
        run = Run(name, full, start + budget, file)
        problem = ""
        try:
            suite.run(run)
        except TimeoutError as error:
            problem = f"over its budget of {budget} s: {error}"
        except (RuntimeError, OSError) as error:
            problem = str(error)
    seconds = time.monotonic() - start
    if not problem and seconds > budget:
        problem = f"over its budget of {budget} s"
    if problem and not run.counts.failed:
        run.counts.failed = 1
    if run.counts.failed:
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-80:]))
        print(f"{name} FAILED {problem} (all of it: {log.relative_to(ROOT)})", flush=True)
    return {
        "suite": name,
        **asdict(run.counts),
        "seconds": round(seconds, 1),
        "cpu": round(cpu_seconds() - cpu, 1),
        "budget": budget,
    }


def run_suites(suites: list[Suite], full: bool) -> list[dict[str, object]]:
    """Run suites, side by side where they say so, and return their rows."""
    rows: list[dict[str, object]] = []
    while suites:
        end = next((i for i, suite in enumerate(suites) if i and not suite.beside), len(suites))
        together, suites = suites[:end], suites[end:]
        with ThreadPoolExecutor(len(together)) as pool:
            rows += pool.map(lambda suite: run_suite(suite, full), together)
    return rows


def cpu_seconds() -> float:
    """CPU time of all commands so far: beside the wall time it tells a busy machine.

    Suites that run side by side count one another's.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> dict[str, object]:
    """What the suites ran on."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": CORES,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def git(*words: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()


def keep(rows: list[dict[str, object]], total: Counts) -> Path:
    """Write the dated result of a full run."""
    date = datetime.date.today().isoformat()
    path = ROOT / "tests/results" / f"{date}.json"
    path.parent.mkdir(exist_ok=True)
    commit = git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    result = {"date": date, "commit": commit, "machine": machine(), "total": asdict(total)}
    path.write_text(json.dumps(result | {"suites": rows}, indent=1) + "\n")
    return path


def main() -> int:
    """Run the suites asked for; 1 where a test failed."""
    names = [suite.run.__name__ for suite in SUITES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(names)}")
    parser.add_argument("--full", action="store_true", help="long matrices; keep the result")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(names):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = [s for s in SUITES if not options.suites or s.run.__name__ in options.suites]
    start = time.monotonic()
    rows = run_suites(chosen, options.full)

    total = Counts()
    print(
        f"\n{'suite':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'cpu':>8}{'budget':>8}"
    )
    for row in rows:
        total += Counts(row["passed"], row["failed"], row["skipped"])
        print(
            f"{row['suite']:<10}{row['passed']:>8}{row['failed']:>8}{row['skipped']:>9}"
            f"{row['seconds']:>9}{row['cpu']:>8}{row['budget']:>8}"
        )
    seconds = time.monotonic() - start
    print(f"{'all':<10}{total.passed:>8}{total.failed:>8}{total.skipped:>9}{seconds:>9.1f}\n")
    if options.full and not options.suites:
        print(f"kept as {keep(rows, total).relative_to(ROOT)}")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return min(total.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
