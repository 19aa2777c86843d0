"""exit() destroys nothing that a thread may still read: clang-tidy refuses such statics.

The lint has it look at every source that is shipped.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
#include <mutex>
#include <string>
#include "drapps/base/never_destroyed.h"
std::string name();
const std::string kRefused = name();
const std::string& refused() { static const std::string made = name(); return made; }
struct Held { ~Held() { name(); } };
Held& held() { static Held it; return it; }
constexpr std::string_view kAllowed = "a";
std::mutex mutex;
using drapps::NeverDestroyed;
const std::string& allowed() { static NeverDestroyed<std::string> made; return *made; }
"""

# Checks of the configuration that take most of the time, and are not what this is about.
OTHERS = "-bugprone-*,-cppcoreguidelines-*,-misc-*,-modernize-*,-performance-*,-readability-*"


def test_a_static_that_exit_destroys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.cc").write_text(SOURCE)
    command = ["clang-tidy-19", "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    command.append(f"--checks={OTHERS}")
    flags = [tmp_path / "x.cc", "--", "-std=c++20", f"-I{ROOT / 'src'}"]
    output = subprocess.run([*command, *flags], capture_output=True, text=True, check=False).stdout
    refused = re.findall(r"x\.cc:(\d+):.*clang-diagnostic-exit-time-destructors", output)
    lines = SOURCE.splitlines()
    assert [lines[int(number) - 1].split("(")[0] for number in refused] == [
        "const std::string kRefused = name",
        "const std::string& refused",
        "Held& held",
    ]
