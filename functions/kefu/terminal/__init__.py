"""The chat in the terminal, `kefu chat`: its input and output, its sessions and its model.

This package chooses the implementations for the chat, as `bootstrap` does for the service. It
imports no web framework. Slow imports happen after the prompt is shown.
"""
