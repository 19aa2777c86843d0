"""Lightning, Accelerate and the Trainer of transformers, unmodified, with drapps.torch.DataLoader.

What the stock loader gives under the same trainer is what ours must give. Two ranks: the scripts of
examples/ (test_examples.py), and here the ways in which Accelerate deals out batches.
"""
