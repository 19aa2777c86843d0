"""Scenario meter-cpu: what it costs to know what a loader does."""
