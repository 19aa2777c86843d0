"""Scenario tokenizers: text to ids, against every tokenizer that gives the same ids."""
