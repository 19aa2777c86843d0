"""What the machine offers a loader, and what stands in its way: ``drapps doctor``."""
