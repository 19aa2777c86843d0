"""What PyTorch documents of its DataLoader, and users rely on, asked of every loader class of ours.

Each test runs over *modes*: the stock class itself, which is the oracle and passes all of them, and
ours in each of its modes. A test takes the fixture that says for whom its promise holds:

* ``loader_class``: everybody;
* ``serial_class``: stock and ``torch_order=True``, which draw the same numbers;
* ``elastic_class``: the default, whose random numbers depend on the place of a sample alone;
* ``own_class``: what stock does not offer.
"""
