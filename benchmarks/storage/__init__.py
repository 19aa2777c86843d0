"""Scenario storage: photographs on storages that are slow in different ways; see scenario.md."""
