"""Stores in an SQL database: what SQLite and PostgreSQL share."""
