"""Pipelines of every kind, and digests of the streams that they give.

What goes in is the same everywhere: the files of ``tests/golden/pictures``, arrays by arithmetic,
datasets in Python that draw.
"""
