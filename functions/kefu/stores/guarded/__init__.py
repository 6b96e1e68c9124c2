"""Adds time limits and fallbacks to stores, so that a failing store delays chats only briefly."""
