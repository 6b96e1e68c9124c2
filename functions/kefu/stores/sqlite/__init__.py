"""Stores in one SQLite file. Only this package imports sqlite3."""
