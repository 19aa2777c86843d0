"""Check DRAPPS on a machine with a GPU: python3 check.py [--results DIR], within its kit.

It needs CPython >= 3.12 with torch, NumPy, Pillow, torchvision and pytest, and neither a network
nor a compiler. Each part has a deadline and is written to results.json when it ends, so that what
is cut off keeps what it has; its output stands beside that, in PART.log. It takes some five
minutes. Without a device, what needs one is skipped.

The last line reads ``N passed, N failed, N skipped``, counted in parts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

KIT = Path(__file__).resolve().parent
MACHINE = """
import json, os, platform, torch
there = torch.cuda.is_available()
print(json.dumps({
    "python": platform.python_version(), "torch": torch.__version__,
    "cores": len(os.sched_getaffinity(0)), "devices": torch.cuda.device_count() if there else 0,
    "device": torch.cuda.get_device_name() if there else None,
    "memory": torch.cuda.get_device_properties(0).total_memory if there else 0}))
"""
# Seconds that each may take, and its command.
PARTS = {
    "wheel": (60, ["wheel_trial.py", "photos", "--torch"]),
    "tests": (150, ["-m", "pytest", "-q", "-rs", "python/tests/test_torch_gpu.py"]),
    "gpu-transfers": (
        120,
        ["-m", "benchmarks.run", "gpu-transfers", "--rounds", "3", "--seconds", "1"],
    ),
    "gpu-resident": (
        120,
        ["-m", "benchmarks.run", "gpu-resident", "--rounds", "3", "--seconds", "1"],
    ),
    "gpu-decode": (
        180,
        ["-m", "benchmarks.run", "gpu-decode", "--rounds", "3", "--seconds", "1"],
    ),
}


class Results:
    """What has been found so far, on disk too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.content: dict[str, object] = {"date": time.strftime("%Y-%m-%d"), "parts": {}}

    def add(self, part: str, outcome: str, seconds: float) -> None:
        """How a part went."""
        self.content["parts"][part] = {"outcome": outcome, "seconds": round(seconds, 1)}  # type: ignore[index]
        print(f"{part}: {outcome}, {seconds:.0f} s", flush=True)
        self.save()

    def save(self) -> None:
        """Write it all."""
        (self.folder / "results.json").write_text(json.dumps(self.content, indent=1) + "\n")


def environment() -> dict[str, str]:
    """That of a command that finds the wheel's package, and the tests and benchmarks."""
    site = KIT / "site"
    if not site.exists():
        for wheel in KIT.glob("drapps-*.whl"):
            zipfile.ZipFile(wheel).extractall(site)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(KIT)])}


def run(part: str, results: Results, env: dict[str, str]) -> bool:
    """Run one part; whether it passed."""
    limit, words = PARTS[part]
    began = time.monotonic()
    with (results.folder / f"{part}.log").open("w") as log:
        try:
            status: object = subprocess.run(
                [sys.executable, *words],
                cwd=KIT,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = f"more than {limit} s"
    results.add(part, "failed: " + str(status) if status else "passed", time.monotonic() - began)
    if status:
        print((results.folder / f"{part}.log").read_text(errors="replace")[-3000:])
    return not status


def main() -> int:
    """Run all parts; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=KIT / "results", help="a folder for them")
    folder = parser.parse_args().results
    folder.mkdir(parents=True, exist_ok=True)
    results, env = Results(folder), environment()
    probe = subprocess.run([sys.executable, "-c", MACHINE], capture_output=True, text=True)
    if probe.returncode:
        sys.exit(f"gpu-check: torch is needed here:\n{probe.stderr[-1000:]}")
    machine = results.content["machine"] = json.loads(probe.stdout)
    print(json.dumps(machine))
    results.save()
    wanted = list(PARTS) if machine["devices"] else ["wheel"]
    passed = [run(part, results, env) for part in wanted]
    for kept in sorted((KIT / "build/bench").glob("*.json")):
        (folder / kept.name).write_text(kept.read_text())
    skipped = [part for part in PARTS if part not in wanted]
    if skipped:
        print(f"torch finds no device here: skipped {', '.join(skipped)}")
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, {len(skipped)} skipped")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
