"""Answers one question: admission and rate limits, presets, the prompt, and summaries of older
messages.

This package does not use stored chats, databases or HTTP.
"""
