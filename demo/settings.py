"""The demo's numbers: what one might want to change is here."""

from __future__ import annotations

SEED = 11
BATCH = 64
CROP = 224

PROBE_S = 1.2  # for each candidate of num_workers
TRAINING_S = 40.0  # what all epochs of the stock run may take
EPOCHS = (3, 6)  # the fewest and the most, whatever TRAINING_S says

PHASES_S = (8.0, 15.0, 5.0)  # quiet, foreign load, quiet
# The emulated step takes this many times what DRAPPS needs for a batch when nothing else runs: in
# the quiet the step sets the pace, under foreign load the loader may.
STEP_FACTOR = 2.0
