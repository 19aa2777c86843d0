"""Every fault at every moment: what dies, what others see of it, and what is left behind."""
