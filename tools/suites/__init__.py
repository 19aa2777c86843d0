"""What tools/test.py runs: a function for each suite, and how its commands are run and counted."""
