"""Authenticates visitors and operators: signatures, tokens of the operator's panel, the bot check,
and the user tokens of a site.

The functions take the text of a token and return a value. `kefu.auth` does not use web requests,
stores or clocks.
"""
