"""Documents in files, packed into rows of tokens: `drapps.text` begins a pipeline of them."""
