"""Loaders over text that `drapps.torch.DataLoader` lifts."""
