"""Run the test suites, several side by side.

A suite fails where one of its tests does, and where it hangs: a command that prints nothing for
QUIET seconds is stopped. How long a suite takes is never a reason to fail. What a suite prints
goes to build/test/SUITE.log; the end of it is shown on failure. Each test that failed is named,
with the end of what it said, below the table.

A C++ program of tests that is the same to the byte as one that passed, on this machine and with the
same arguments, is not run again but by a full run: its results are remembered in the user's cache
folder, which serves every clone. A full run takes hours: one that was stopped, or in which a suite
failed, goes on at the same commit with the suites that have not passed yet, and of those of the
package under sanitizers with the files. The last line reads ``N passed, N failed, N skipped``,
summed over what the suites really ran.
"""

import argparse
import datetime
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from suites import compiled, interpreted
from suites.run import CORES, LOGS, ROOT, Counts, Run, end_with_commands, machine

# Each compiles, and then tests, on all cores: two rows of them, beside those below.
IN_TURN = [compiled.asan, compiled.fuzz], [compiled.tsan, compiled.cxx]
COMPILED = [suite for row in IN_TURN for suite in row]
# As many as there are slots at once, the next one as soon as one has ended. First those that are
# long in a full run.
SIDE_BY_SIDE = [interpreted.pictures, interpreted.python, interpreted.processes]
SIDE_BY_SIDE += [interpreted.control, interpreted.trainers, interpreted.diagnosis]
SIDE_BY_SIDE += [interpreted.contract, interpreted.endings, interpreted.frameworks]
SIDE_BY_SIDE += [interpreted.lint, interpreted.text, interpreted.states]
SIDE_BY_SIDE += [interpreted.layering, interpreted.soak]
SLOTS = CORES + 3  # much of what the Python suites do is to wait
# These fill what the others leave idle: they compile, with empty caches, or take a fixed time.
GIVES_WAY = {*COMPILED, interpreted.lint, interpreted.soak}
FIRST = [interpreted.packages, compiled.build]  # what the others stand on
SUITES = {suite.__name__: suite for suite in [*FIRST, *COMPILED, *SIDE_BY_SIDE]}


def git(*words: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()


def changes() -> str:
    """What differs from the commit, but for results kept of it."""
    return git("status", "--porcelain", ":!tests/results")


def run_suite(suite: Callable[[Run], None], full: bool, nice: int = 0) -> dict[str, object]:
    """Run one suite, print how it went and return its row of the result.

    In a full run that is the row it has passed with before, where this commit has one.
    """
    name = suite.__name__
    row_of_commit = LOGS / "full" / git("rev-parse", "HEAD") / f"{name}.json"
    # The first make what the others run on, so they always run.
    lasting = full and suite not in FIRST and not changes()
    if lasting and row_of_commit.exists():
        row = json.loads(row_of_commit.read_text())
        print(f"{name}: passed at this commit in a run begun {row['begun']}", flush=True)
        return row
    print(f"{name}: {suite.__doc__}", flush=True)
    begun = datetime.datetime.now().isoformat(" ", "minutes")
    start = time.monotonic()
    log = LOGS / f"{name}.log"
    with log.open("w") as file:
        kept = row_of_commit.with_suffix("") if lasting else None
        run = Run(name, full, file, nice, kept)
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
    row |= {"begun": begun, "remembered": run.remembered, "failures": run.failures}
    if lasting and not run.counts.failed:
        row_of_commit.parent.mkdir(parents=True, exist_ok=True)
        row_of_commit.write_text(json.dumps(row))
    return row


def run_suites(chosen: set[str], full: bool) -> list[dict[str, object]]:
    """Run suites and return their rows, in the order of the table."""

    def run(*suites: Callable[[Run], None]) -> list[dict[str, object]]:
        mine = [suite for suite in suites if suite.__name__ in chosen]
        polite = len(chosen) > 1
        return [run_suite(each, full, 10 if polite and each in GIVES_WAY else 0) for each in mine]

    packages, build = FIRST
    with ThreadPoolExecutor(SLOTS) as pool:
        installed = pool.submit(run, packages)
        rows = run(build)
        parts = [pool.submit(run, *row) for row in IN_TURN]
        rows += installed.result()
        parts += [pool.submit(run, suite) for suite in SIDE_BY_SIDE]
        return rows + [row for part in parts for row in part.result()]


def keep(name: str, rows: list[dict[str, object]], total: Counts, seconds: float) -> Path:
    """Write the dated result of a run."""
    date = datetime.date.today().isoformat()
    path = ROOT / "tests/results" / f"{date}-{name}.json"
    path.parent.mkdir(exist_ok=True)
    commit = git("rev-parse", "HEAD") + ("+changes" if changes() else "")
    result = {"date": date, "commit": commit, "machine": machine(), "total": asdict(total)}
    result["seconds"] = round(seconds, 1)  # of the last sitting
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
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(ending) != signal.SIG_IGN:  # as under nohup
            signal.signal(ending, end_with_commands)
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
