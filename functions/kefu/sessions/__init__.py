"""Stored chats: the model and the ports of their stores, a turn from the question to the saved
answer, session tokens, the log of calls, and hooks.

This package does not use databases, HTTP or terminals. It reaches a store through the ports in
`model`.
"""
