"""Answers one question: admission and rate limits, presets, the prompt, and summaries of older
messages.

`kefu.chat` does not use stored chats, databases or HTTP.
"""
