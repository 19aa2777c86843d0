"""Scenario python-cached: a Python dataset whose items are made once."""
