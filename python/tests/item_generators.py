"""A generator of a module that the tests of `drapps.cached` import when they need it."""

import random

rng = random.Random(1)
