"""Builds a running service from the settings.

This package chooses the service's implementations of ports; `terminal` does so for its chat.
"""
