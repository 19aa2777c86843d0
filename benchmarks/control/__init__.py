"""Policies and the simulator that they plan with, held against live runs."""
