"""Programs that tests need and that are no Python packages: installs and starts them."""
