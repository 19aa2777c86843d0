"""Scenario python-dataset: a user's Python code in worker processes."""
