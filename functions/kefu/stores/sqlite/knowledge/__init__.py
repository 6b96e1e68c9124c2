"""The file of learnt pages: one SQLite database, written whole and then only read."""
