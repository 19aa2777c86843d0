"""Rows of tokens, and what writes tokens."""
