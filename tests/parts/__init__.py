"""Real parts that tests talk to and that are no Python packages: how to fetch and start them."""
