"""Policies, and the simulator that they plan with, compared: see control.md."""
