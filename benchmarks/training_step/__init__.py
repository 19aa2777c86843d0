"""Scenario training-step: what the parts of drapps.train are worth, and what they cost."""
