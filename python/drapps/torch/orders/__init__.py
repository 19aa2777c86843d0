"""The orders of samples that loaders over Python code have, a class for each kind of them."""
