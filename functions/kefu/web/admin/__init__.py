"""The operator's panel: its authentication, and the content of its pages."""
