"""Stores everything in one PostgreSQL database."""
