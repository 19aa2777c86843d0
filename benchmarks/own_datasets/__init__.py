"""Scenario own-datasets: datasets as people write them, unmodified; see scenario.md."""
