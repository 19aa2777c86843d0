"""Policies compared on simulated machines; see control.md."""
