"""The documentation: built, with its links and its spelling checked."""
