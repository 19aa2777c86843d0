"""Build the documentation into build/docs/, and check its links and its spelling.

Each problem is a line that begins with file and line; the exit status is 1 where there is one. The
last line reads ``N passed, N failed, N skipped``, counted in checks.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tools.docs import links, spelling

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "mkdocs build --strict --site-dir build/docs"  # --quiet would take warnings for nothing
LINK = re.compile(r"WARNING -  Doc file '([^']+)' contains .*?link '([^']+)'")
PAGE = re.compile(r"  - (\S+\.md)$")
DOCSTRING = re.compile(r"WARNING -  griffe: (\S+:\d+): (.*)")


def build(root: Path) -> list[str]:
    """What MkDocs complains about; the site is in build/docs/ where that is nothing."""
    done = subprocess.run(
        [sys.executable, "-m", *COMMAND.split()],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("INFO")]
    if done.returncode and not lines:
        lines = ["mkdocs failed"]
    return [placed(line, root / "docs") for line in lines]


def placed(complaint: str, docs: Path) -> str:
    """A complaint of MkDocs with the line that it is about in front, where it has one."""
    if match := LINK.match(complaint):
        text = (docs / match[1]).read_text().splitlines()
        line = next((at for at, line in enumerate(text, 1) if f"({match[2]}" in line), 1)
        return f"docs/{match[1]}:{line}: {complaint}"
    if match := DOCSTRING.match(complaint):
        return f"{match[1]}: {match[2]}"
    if match := PAGE.match(complaint):
        return f"docs/{match[1]}:1: not in the nav of mkdocs.yml"
    return complaint


def main() -> int:
    """Run all checks."""
    checks = {"links": links.problems, "spelling": spelling.problems, "build": build}
    failed = 0
    for name, check in checks.items():
        problems = check(ROOT)
        failed += bool(problems)
        print(*problems, f"{name}: {'see above' if problems else 'ok'}", sep="\n", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
