"""Scenario gpu-transfers: copies to the device beside the training step; see scenario.md."""
