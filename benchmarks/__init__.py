"""Benchmarks of Kefu and of comparable libraries: `python -m benchmarks --help`."""
