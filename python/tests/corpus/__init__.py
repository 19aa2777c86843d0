"""Tests of packed text."""
