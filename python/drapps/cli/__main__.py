"""``python -m drapps.cli`` is ``python -m drapps``."""

import sys

from drapps.cli import main

sys.exit(main())
