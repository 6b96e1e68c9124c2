"""Stored chats, by life time: what is stored, hooks of the site, one turn, and people.

`kefu.sessions` does not use databases, HTTP or terminals. The package reaches a store through the
ports in `store`.
"""
