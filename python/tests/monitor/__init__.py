"""What a running process offers, who asks for it, and what is shown."""
