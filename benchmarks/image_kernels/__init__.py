"""Scenario image-kernels: from JPEGs in memory to crops, on one core; see scenario.md."""
