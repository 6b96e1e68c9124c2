"""Finds passages of the site's own pages for a question, and checks what an answer cites.

Everything here is computed from its arguments. `kefu.stores.sqlite.knowledge` keeps the passages
in a file and implements the port `Knowledge`.
"""
