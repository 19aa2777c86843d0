"""``drapps top``: a running process's loaders, in a terminal."""
