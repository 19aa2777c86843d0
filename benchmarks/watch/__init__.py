"""Scenario watch: whether `drapps watch` names the causes of stalls that were injected."""
