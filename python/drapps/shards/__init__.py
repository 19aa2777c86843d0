"""Files that hold many samples: tar shards, MDS and LitData, read at random by an index."""
