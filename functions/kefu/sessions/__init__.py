"""Stored chats, by life time: what is stored, hooks of the site, one turn, and people.

This package does not use databases, HTTP or terminals. It reaches a store through the ports in
`store`.
"""
