"""Builds a running service from the settings.

It chooses the implementations of the ports for the service; `terminal` does so for its chat.
"""
