"""The chat in the terminal, `kefu chat`: its input and output, its sessions and its model.

`kefu.terminal` chooses the implementations for the chat, as `bootstrap` does for the service. The
package imports no web framework. Slow imports happen after the prompt is shown.
"""
