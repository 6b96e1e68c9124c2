"""Programs that `python -m benchmarks context` and `knowledge` start, one for each library."""
