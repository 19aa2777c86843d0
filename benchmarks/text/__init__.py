"""Scenario text: raw files to packed rows of tokens."""
