"""Token ids in files, cut into rows: `drapps.tokens` begins a pipeline of them."""
