"""Reads the pages of a site, and obeys its robots.txt."""
