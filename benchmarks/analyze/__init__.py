"""Scenario analyze: whether what `drapps analyze` predicts is what is measured."""
