"""Why a training waits for data: what ``drapps.watch`` and ``drapps watch`` measure and say.

Nothing here imports a framework, NumPy or the core when it is imported: it runs within scripts of
others, from their first line on.
"""
