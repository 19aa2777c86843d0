"""Lifting of text: rows of `datasets`, tokenizers and collators of `transformers`."""
