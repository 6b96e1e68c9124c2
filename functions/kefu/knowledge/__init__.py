"""Finds passages of the site's own pages for a question, and checks the citations of an answer.

Everything here is computed from its arguments. `kefu.stores.sqlite.knowledge` keeps the passages
in a file and implements the port `Knowledge`.
"""
