"""The demo's numbers: what one might want to change is here."""

from __future__ import annotations

SEED = 11
BATCH = 64
CROP = 224

PROBE_S = 1.0  # for each candidate of num_workers
TRAINING_S = 30.0  # what all epochs of the stock run may take
EPOCHS = (4, 6)  # the fewest and the most, whatever TRAINING_S says

PHASES_S = (10.0, 12.0, 3.0)  # quiet, foreign load, quiet
# The emulated step takes this many times what DRAPPS needs for a batch when nothing else runs. So
# in the quiet fewer workers are enough, and under foreign load they may not be.
STEP_FACTOR = 2.5
