"""What would help a training that waits for data: measured, predicted, checked.

Nothing here imports a framework, NumPy or the core when it is imported: it runs within scripts of
others.
"""
