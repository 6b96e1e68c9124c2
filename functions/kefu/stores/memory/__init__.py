"""Stores in the memory of this process, for tests and for a single process."""
