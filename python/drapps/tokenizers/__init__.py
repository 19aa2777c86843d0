"""Tokenizers: text to ids, exactly as the library that a tokenizer is from."""
