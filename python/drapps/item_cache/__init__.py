"""Items of Python datasets, kept in memory that all worker processes share.

`dataset` is what a user has in the place of a dataset. `keeper` decides what becomes of an item:
`making` says which sample may be kept, by `draws` (whether it drew random numbers), `reach` (what
its dataset can draw from) and `values` (how it lies in memory; `blocks`, `plain`, `pictures`,
`arrays`, `places` and `dtypes` are parts of that, and `memory` says which arrays share theirs).
`together` says whether samples that are made together are what they are alone. What a dataset
reaches is found by a `walk` over its objects, each looked at as its class allows (`kinds`,
`findings`) and its `code` says. `fingerprint` is the key by which processes know that they mean the
same items, and `facts` the part of it that is code.
"""
