"""``python -m drapps``, where the command ``drapps`` is not on the path."""

import sys

from drapps.cli import main

sys.exit(main())
