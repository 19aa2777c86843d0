"""Scenario image-cpu: photographs in memory, cropped and normalised; see scenario.md."""
