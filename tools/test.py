"""Run the test suites, several side by side.

A suite fails where one of its tests does, and where it hangs: a command that prints nothing for
QUIET seconds is stopped. How long a suite takes is never a reason to fail. What a suite prints
goes to build/test/SUITE.log; the end of it is shown on failure. Each test that failed is named,
with the end of what it said, below the table.

A C++ program of tests that is the same to the byte as one that passed, on this machine and with the
same arguments, is not run again but by a full run: its results are remembered in the user's cache
folder, which serves every clone. The last line reads ``N passed, N failed,
N skipped``, summed over what the suites really ran.
"""

import argparse
import datetime
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/test"
CORES = len(os.sched_getaffinity(0))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "drapps" / "tests"
# Hundreds of interpreters are started, and each would compile the package anew.
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
QUIET = 900  # many times what any single test or compilation takes on a slow and busy machine


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

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed - other.passed, self.failed - other.failed, self.skipped - other.skipped
        )


@dataclass
class Run:
    """One suite on its way: its log and what it has counted."""

    name: str
    full: bool
    log: TextIO
    nice: int = 0
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
        try:
            process.returncode, used = self._wait(process.pid)
        except TimeoutError:
            raise TimeoutError(f"printed nothing for {QUIET} s: {shown}") from None
        finally:
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
        found = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.MULTILINE)
        counts = Counts(*map(int, found[-1])) if found else Counts()
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
                said = failure.text or failure.get("message") or ""
                self.failures.append(f"{case.get('classname')}.{case.get('name')}\n{said[-600:]}")
            elif case.find("skipped") is not None:
                counts.skipped += 1
            else:
                counts.passed += 1
        if status and not counts.failed:  # for example, no test was found
            counts.failed = 1
            said = Path(self.log.name).read_text(errors="replace").split("\n$ ")[-1]
            crash = said.find("Fatal Python error")  # the stack of each thread follows
            end = said[crash : crash + 5000] if crash >= 0 else said[-600:]
            self.failures.append(f"{junit.stem}: exit status {status}\n{end}")
        self.counts += counts

    def pytest(self, *words: str, **env: str) -> None:
        """Run pytest, long matrices only in a full run."""
        junit = LOGS / f"{self.name}.xml"
        junit.unlink(missing_ok=True)
        marks = ["-m", "full or not full"] if self.full else []
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={junit}", *marks, *words]
        self.report(self.command(*command, **env), junit)

    def gtest(self, preset: str, layers: list[str], *words: str, **env: str) -> None:
        """Run the C++ tests of layers: a process per test would take sanitizers twice as long."""
        for layer in layers:
            junit = LOGS / f"{self.name}.{layer}.xml"
            junit.unlink(missing_ok=True)
            program = ROOT / f"build/{preset}/src/drapps/{layer}_test"
            before = remembered(program, *words, **env)
            if before.exists() and not self.full:
                counts = Counts(*json.loads(before.read_text()))
                self.counts += counts
                self.remembered += counts.passed + counts.skipped
                before.touch()
                print(f"{program}: as when it passed here before", file=self.log, flush=True)
                continue
            ended = replace(self.counts)
            self.report(self.command(program, f"--gtest_output=xml:{junit}", *words, **env), junit)
            counts = self.counts - ended
            if not counts.failed:
                before.parent.mkdir(parents=True, exist_ok=True)
                before.write_text(json.dumps(astuple(counts)))

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


LAYERS = re.findall(r"^drapps_layer\((\w+)", (ROOT / "src/drapps/CMakeLists.txt").read_text(), re.M)
SIMD_LEVELS = {
    "portable": set(),
    "avx2": {"avx2", "bmi1", "bmi2", "fma"},
    "avx512": {"avx512bw", "avx512vl", "avx512dq"},
    "avx512vbmi": {"avx512vbmi", "avx512_vbmi2", "avx512_vnni"},
}


def layering(run: Run) -> None:
    """Check the includes against the order of the layers."""
    run.pytest("tests/layering")


# Their results must be the same bits whatever compiles them; the sanitizers' builds have all tests.
EXACT = ["base", "kernel", "decode", "augment", "text", "batch"]


def build(run: Run) -> None:
    """Build the core, its tests and the extension module."""
    tests = [f"{layer}_test" for layer in EXACT]
    run.build("release", *(["all", "benchmarks"] if run.full else ["_core_stub", *tests]))
    run.must("tools/setup.sh", "extension")
    run.counts.passed = 1


def lint(run: Run) -> None:
    """Check style, types and what clang-tidy finds."""
    run.script("tools/lint.py", *(["--all"] if run.full else []))


def cxx(run: Run) -> None:
    """Test the core as it is shipped; all of it in a full run."""
    if run.full:
        run.simd_levels("release", LAYERS, DRAPPS_TEST_FULL="1")
    else:
        run.simd_levels("release", EXACT)


# What starts many processes stands apart from "python": a fork of a process that has imported as
# much as that one has costs a third more.
CONTRACT = ["python/tests/torch_contract"]
PROCESSES = [
    "python/tests/test_workers.py",
    "python/tests/test_workers_policy.py",
    "python/tests/test_autoscaler.py",
    "python/tests/test_migration.py",
    "python/tests/test_accelerate_datasets.py",
    "python/tests/test_accelerate_ends.py",
    "python/tests/test_accelerate_index.py",
    "python/tests/test_accelerate_workers.py",
    "python/tests/test_kept_batches.py",
    "python/tests/test_large_orders.py",
    "python/tests/test_no_more_processes.py",
    "python/tests/test_torch_odd_objects.py",
    "python/tests/test_torch_seed.py",
    "python/tests/scripts",
    "tests/fault_matrix",
]
STATES = [
    "python/tests/test_checkpointed_states.py",
    "python/tests/test_workers_bad_states.py",
    "python/tests/test_workers_resume.py",
    "python/tests/test_workers_resume_draws.py",
    "python/tests/test_own_state.py",
    "python/tests/test_state_edges.py",
    "python/tests/test_state_edits.py",
    "python/tests/test_torch_state.py",
]
# A fork copies page tables, and huge pages have small ones: a sixth less work in these suites.
FORKS = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# They import so much that every fork in one process with them takes several times as long.
TRAINERS = [
    "python/tests/test_hf_loader.py",
    "python/tests/test_hf.py",
    "python/tests/test_docs.py",
    "python/tests/test_examples.py",
    "python/tests/test_recipes.py",
    "python/tests/test_streaming_datasets.py",
    "python/tests/text_lifting",
    "python/tests/trainers",
]
# They leave threads behind, and libraries that few trainings have in one process with torch's.
OTHERS = [
    "python/tests/test_jax.py",
    "python/tests/test_jax_devices.py",
    "python/tests/test_tensorflow.py",
    "python/tests/test_tensorflow_import.py",
    "python/tests/test_tensorflow_keras.py",
    "python/tests/test_tensorflow_lift.py",
]


# What watches a run and decides, and what it watches: budgets, storages, traces, scenarios.
CONTROL = [
    str(path.relative_to(ROOT))
    for kind in (
        "calibration",
        "hold",
        "policy",
        "scenario",
        "simulation",
        "stats",
        "storage",
        "trace",
    )
    for path in sorted((ROOT / "python/tests").glob(f"test_{kind}*.py"))
]


def python(run: Run) -> None:
    """Test the Python package."""
    apart = ["tests/layering", *CONTRACT, *PROCESSES, *STATES, *TRAINERS, *OTHERS, *CONTROL]
    run.pytest("python/tests", "tests", *(f"--ignore={path}" for path in apart), **FORKS)


def control(run: Run) -> None:
    """Test what watches a run and decides: budgets, storages, policies, traces, scenarios."""
    run.pytest(*CONTROL)


def frameworks(run: Run) -> None:
    """Test the fronts of other frameworks, trainers, examples and the code in the docs."""
    run.pytest(*TRAINERS, **FORKS)
    run.pytest(*OTHERS, **FORKS)


def contract(run: Run) -> None:
    """Test what PyTorch's loader promises, on Python datasets."""
    run.pytest(*CONTRACT, **FORKS)


def processes(run: Run) -> None:
    """Test Python datasets in worker processes: memory, restarts, faults."""
    run.pytest(*PROCESSES, **FORKS)


def states(run: Run) -> None:
    """Test what loaders save of themselves, and what goes on from it."""
    run.pytest(*STATES, **FORKS)


def soak(run: Run) -> None:
    """Kill worker processes at random; every stream must come out exact."""
    minutes = "10" if run.full else "0.5"
    run.must(sys.executable, "tools/soak.py", "--minutes", minutes, PYTHONPATH="python")
    run.counts.passed = 1


def asan(run: Run) -> None:
    """Test the core with the address and undefined-behaviour sanitizers."""
    run.build("asan")
    options = {"UBSAN_OPTIONS": "print_stacktrace=1"}
    if run.full:
        run.simd_levels("asan", LAYERS, **options)
    else:  # the tests of kernels and decoders name every level themselves
        run.gtest("asan", LAYERS, **options)


def fuzz(run: Run) -> None:
    """Fuzz every parser for a short time."""
    run.script("tools/fuzz.py", "--seconds", "120" if run.full else "2")


def tsan(run: Run) -> None:
    """Test what has threads with the thread sanitizer."""
    run.build("tsan")
    suppressed = ROOT / "tools/tsan_suppressions.txt"
    flags = "halt_on_error=1 second_deadlock_stack=1 die_after_fork=0"
    options = {"TSAN_OPTIONS": f"{flags} suppressions={suppressed}"}
    layers = ["shm", "exec", "storage", "decode", "deliver", "worker", "cache", "pipeline"]
    run.gtest("tsan", [*layers, "trace", "control", "text"], **options)


# As many as there are slots at once, the next one as soon as one has ended: long ones first.
SIDE_BY_SIDE = [python, processes, control, asan, frameworks, states]
SIDE_BY_SIDE += [lint, tsan, contract, soak, cxx, fuzz]
SLOTS = CORES + 2  # much of what the Python suites do is to wait
# These fill what the others leave idle: they compile, with empty caches, or take a fixed time.
GIVES_WAY = {asan, lint, tsan, soak}
FIRST = [layering, build]  # what the others stand on
SUITES = {suite.__name__: suite for suite in [*FIRST, *SIDE_BY_SIDE]}


def run_suite(suite: Callable[[Run], None], full: bool, nice: int = 0) -> dict[str, object]:
    """Run one suite, print how it went and return its row of the result."""
    name = suite.__name__
    print(f"{name}: {suite.__doc__}", flush=True)
    start = time.monotonic()
    log = LOGS / f"{name}.log"
    with log.open("w") as file:
        run = Run(name, full, file, nice)
        problem = ""
        try:
            suite(run)
        except (RuntimeError, OSError) as error:  # TimeoutError is one of the latter
            problem = str(error)
    if problem:
        run.counts.failed += 1
        run.failures.append(problem)
    seconds = round(time.monotonic() - start, 1)
    if run.counts.failed:
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-80:]))
        print(f"{name} FAILED (all of it: {log.relative_to(ROOT)})", flush=True)
    else:
        print(f"{name}: ok, {seconds:.0f} s", flush=True)
    row = {"suite": name, **asdict(run.counts), "seconds": seconds, "cpu": round(run.cpu, 1)}
    return row | {"remembered": run.remembered, "failures": run.failures}


def run_suites(chosen: set[str], full: bool) -> list[dict[str, object]]:
    """Run suites and return their rows, in the order of the table."""
    rows = [run_suite(suite, full) for suite in FIRST if suite.__name__ in chosen]
    rest = [suite for suite in SIDE_BY_SIDE if suite.__name__ in chosen]

    def run_rest(suite: Callable[[Run], None]) -> dict[str, object]:
        return run_suite(suite, full, nice=10 if len(rest) > 1 and suite in GIVES_WAY else 0)

    with ThreadPoolExecutor(SLOTS) as pool:
        return rows + list(pool.map(run_rest, rest))


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


def keep(name: str, rows: list[dict[str, object]], total: Counts, seconds: float) -> Path:
    """Write the dated result of a run."""
    date = datetime.date.today().isoformat()
    path = ROOT / "tests/results" / f"{date}-{name}.json"
    path.parent.mkdir(exist_ok=True)
    commit = git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    result = {"date": date, "commit": commit, "machine": machine(), "total": asdict(total)}
    result["seconds"] = round(seconds, 1)
    path.write_text(json.dumps(result | {"suites": rows}, indent=1) + "\n")
    return path


def main() -> int:
    """Run the suites asked for; 1 where a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--full", action="store_true", help="long matrices too")
    parser.add_argument("--keep", metavar="NAME", help="keep the result in tests/results/")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    rows = run_suites(set(options.suites or SUITES), options.full)

    total = Counts()
    print(f"\n{'suite':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'cpu':>8}")
    for row in rows:
        total += Counts(row["passed"], row["failed"], row["skipped"])
        print(
            f"{row['suite']:<10}{row['passed']:>8}{row['failed']:>8}{row['skipped']:>9}"
            f"{row['seconds']:>9}{row['cpu']:>8}"
        )
    seconds = time.monotonic() - start
    print(f"{'all':<10}{total.passed:>8}{total.failed:>8}{total.skipped:>9}{seconds:>9.1f}\n")
    if again := sum(row["remembered"] for row in rows):
        print(f"{again} of them are those of the same programs in a run before\n")
    for row in rows:
        for failure in row["failures"]:
            print(f"FAILED in {row['suite']}: {failure.rstrip()}\n")
    if options.keep:
        print(f"kept as {keep(options.keep, rows, total, seconds).relative_to(ROOT)}")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return min(total.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
