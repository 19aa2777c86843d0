"""Scenario cache: what each form in which records are kept comes to."""
