"""What holds of drapps.tensorflow and drapps.keras where TensorFlow and Keras are absent."""

import subprocess
import sys

import pytest


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_drapps_imports_neither():
    code = "import sys, drapps; dir(drapps); print({'tensorflow', 'keras'} & set(sys.modules))"
    assert run(code) == "set()\n"


@pytest.mark.parametrize(
    ("module", "absent", "line"),
    [
        ("tensorflow", "tensorflow", "drapps.tensorflow needs TensorFlow: pip install tensorflow"),
        ("keras", "keras", "drapps.keras needs Keras: pip install keras"),
    ],
)
def test_where_it_is_absent_the_error_says_what_to_install(module, absent, line):
    code = f"""
import sys
sys.modules[{absent!r}] = None
import drapps
try:
    drapps.{module}
except ImportError as error:
    print(error)
"""
    assert run(code) == line + "\n"
