"""Scenario image-peers: every loader that reads photographs, side by side; see scenario.md."""
