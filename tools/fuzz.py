"""Run every fuzz target for a while, on inputs found so far and on new ones.

Found inputs grow in build/fuzz/corpus/NAME. What breaks a target is written to build/fuzz, and
belongs into fuzz/NAME_corpus once it is repaired. The last line reads
``N passed, N failed, N skipped``, counted in targets.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/asan"
CORES = len(os.sched_getaffinity(0))


def fuzz(target: Path, seconds: int) -> tuple[str, bool, str]:
    """Run one target.

    Returns:
        Its name, whether all went well, and what it printed.
    """
    name = target.name.removesuffix("_fuzz")
    corpus = ROOT / "build/fuzz/corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "fuzz" / f"{name}_corpus"
    done = subprocess.run(
        [
            target,
            f"-max_total_time={seconds}",
            "-timeout=120",
            "-rss_limit_mb=3072",
            f"-artifact_prefix={ROOT}/build/fuzz/{name}-",
            corpus,
            *([seeds] if seeds.is_dir() else []),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        cwd=ROOT,
    )
    return name, done.returncode == 0, done.stdout


def main() -> int:
    """Build the targets and run them; 1 where one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="time for each target")
    parser.add_argument("--only", default="", help="part of the names of the targets to run")
    options = parser.parse_args()
    subprocess.run(["cmake", "--preset", "asan"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", "asan"], cwd=ROOT, check=True)
    sources = [s for s in sorted((ROOT / "fuzz").glob("*_fuzz.cc")) if options.only in s.stem]
    targets = [BUILD / "fuzz" / source.stem for source in sources]
    failed = 0
    with ThreadPoolExecutor(CORES) as pool:
        for name, ok, output in pool.map(lambda target: fuzz(target, options.seconds), targets):
            tail = output if not ok else output.strip().rpartition("\n")[2]
            print(f"{name}: {'ok' if ok else 'FAILED'}: {tail}", flush=True)
            failed += not ok
    print(f"{len(targets) - failed} passed, {failed} failed, 0 skipped")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
