"""Scenario text-loaders: what people write for text with `datasets` and `transformers`."""
