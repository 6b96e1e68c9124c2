"""Which HTTP client stands below the relay: the measurements behind the decision page.

Four ways to the same upstream under one and the same small relay: `python -m benchmarks clients`.
"""
