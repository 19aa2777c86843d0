"""Check (or with --fix, repair) the style of all C++ and Python in the checkout.

clang-tidy is slow, so it checks what has changed since the branch left its upstream; where no
upstream is known or nothing differs from it, since the last full run whose result is kept, which
has checked everything; and everything where there is none. The sources of a layer are checked as
one translation unit, since most of the time goes into the standard library's headers. What passed
is remembered by content, too: sources are checked again only when they, a project header that they
include, their compiler flags or the configuration have changed. The memory lies in the user's cache
folder and serves every clone. Tests and benchmarks are formatted but not tidied.

The last line reads ``N passed, N failed, N skipped``, counted in tools.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ["python", "tools", "tests", "demo", "benchmarks", "examples"]
CORES = len(os.sched_getaffinity(0))
TIDY = ROOT / "build/tidy"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "drapps" / "clang-tidy"


def cxx_files() -> list[Path]:
    """All C++ files of the project."""
    folders = [ROOT / name for name in ("src", "python/src", "fuzz", "benchmarks")]
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in {".cc", ".h"})


def run(*command: str | Path) -> str:
    """Run a tool in the checkout.

    Returns:
        What it complains about; nothing where it is content.
    """
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout or f"{command[0]} failed"


def clang_format(fix: bool) -> str:
    """Formatting of C++."""
    return run("clang-format-19", *(["-i"] if fix else ["--dry-run", "-Werror"]), *cxx_files())


def ruff_format(fix: bool) -> str:
    """Formatting of Python."""
    return run(tool("ruff"), "format", "--quiet", *([] if fix else ["--diff"]), *PYTHON)


def ruff(fix: bool) -> str:
    """Style of Python."""
    return run(tool("ruff"), "check", "--quiet", *(["--fix"] if fix else []), *PYTHON)


def mypy() -> str:
    """Types of the Python package."""
    return run(tool("mypy"), "--no-error-summary")


def changed() -> set[Path]:
    """Files changed since the branch left its upstream, or since the last full run; or none."""
    upstreams = ("@{upstream}", "origin/HEAD", "origin/main")
    bases = [git("merge-base", "HEAD", name).strip() for name in upstreams]
    for base in (next(filter(None, bases), ""), last_full_run()):
        names = git("diff", "--name-only", base) if base else ""
        names += git("ls-files", "--others", "--exclude-standard") if base else ""
        if names:
            return {ROOT / name for name in names.splitlines()}
    return set()


def last_full_run() -> str:
    """The commit of the newest kept full run that found nothing to mend in any source."""
    for path in sorted((ROOT / "tests/results").glob("*-full.json"), reverse=True):
        kept = json.loads(path.read_text())
        commit = str(kept["commit"])
        clean = {row["suite"]: row["passed"] and not row["failed"] for row in kept["suites"]}
        if clean.get("lint") and git("merge-base", commit, "HEAD").strip() == commit:
            return commit
    return ""


def git(*words: str) -> str:
    """What git says; nothing where it fails."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def concerns_all(file: Path) -> bool:
    """Whether a change of this file may change what clang-tidy says of every source."""
    return file.name in {".clang-tidy", "CMakePresets.json", "CMakeLists.txt", "lint.py"} or (
        file.suffix == ".cmake"
    )


def clang_tidy(everything: bool) -> str:
    """Bugs that a compiler does not warn of, in sources that are shipped."""
    sources = set(cxx_files())
    if not everything and (differ := changed()) and not any(map(concerns_all, differ)):
        sources = {source for source in sources if closure(source) & differ}
    groups: dict[tuple[str, str], list[Path]] = {}
    for entry in json.loads((ROOT / "build/release/compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file in sources and not re.search(r"_(test|bench)\.cc$", file.name):
            flags, target = re.split(r" -o \S*/(\w+)\.dir/\S+ -c \S+$", entry["command"])[:2]
            flags = re.sub(r" -fsched\S+", "", flags)  # GCC's alone
            together = target if target.startswith("drapps_") else file.stem
            groups.setdefault((together, flags), []).append(file)
    jobs = [
        (f"{name}-{number}", flags, files)
        for number, ((name, flags), files) in enumerate(groups.items())
    ]
    TIDY.mkdir(parents=True, exist_ok=True)
    commands = [
        {
            "directory": str(TIDY),
            "file": str(TIDY / f"{name}.cc"),
            "command": f"{flags} -c {name}.cc",
        }
        for name, flags, _ in jobs
    ]
    (TIDY / "compile_commands.json").write_text(json.dumps(commands))
    jobs.sort(key=lambda job: -sum(file.stat().st_size for file in job[2]))  # cores end together
    CACHE.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(CORES) as pool:
        return "".join(pool.map(lambda job: tidy(*job), jobs))


def tidy(name: str, flags: str, files: list[Path]) -> str:
    """Check sources together, unless exactly these were content before."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    digest.update(flags.replace(str(ROOT), "").encode())
    for file in files:
        for part in (file, *sorted(closure(file))):
            digest.update(part.read_bytes())
    remembered = CACHE / digest.hexdigest()
    if remembered.exists():
        remembered.touch()
        return ""
    unit = TIDY / f"{name}.cc"
    lines = [f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files]
    unit.write_text("".join(lines))
    problems = run(
        "clang-tidy-19",
        "--quiet",
        "--extra-arg=-Wno-unknown-warning-option",  # GCC's own are in the command
        "-p",
        TIDY,
        unit,
    )
    problems = re.sub(r"^\d+ warnings.* generated\.\n", "", problems, flags=re.MULTILINE)
    print(f"clang-tidy: {name}", flush=True)
    if not problems:
        remembered.touch()
    return problems


def closure(file: Path) -> set[Path]:
    """The file and all project headers that it includes, directly or not."""
    seen: set[Path] = set()
    pending = [file]
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            pending += includes(part)
    return seen


@cache
def includes(file: Path) -> list[Path]:
    """Project headers that a file names itself."""
    names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE)
    candidates = [folder / name for name in names for folder in (ROOT / "src", file.parent)]
    return [path for path in candidates if path.is_file()]


def tool(name: str) -> Path:
    """A program of the virtual environment in use."""
    return Path(sys.executable).parent / name


def main() -> int:
    """Run every tool; 1 where one of them complains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="format files instead of checking")
    parser.add_argument("--all", action="store_true", help="clang-tidy on every source")
    options = parser.parse_args()
    fix = options.fix
    checks: dict[str, Callable[[], str]] = {
        "clang-format": lambda: clang_format(fix),
        "ruff": lambda: ruff(fix),
        "ruff format": lambda: ruff_format(fix),
    }
    if not fix:
        checks |= {"mypy": mypy, "clang-tidy": lambda: clang_tidy(options.all)}
    failed = 0
    for name, check in checks.items():
        problems = check()
        failed += bool(problems)
        print(problems, f"{name}: {'see above' if problems else 'ok'}", sep="", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
