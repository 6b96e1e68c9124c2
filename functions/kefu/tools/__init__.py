"""The tools that a model can call in a chat: what a tool is, how its calls are checked and run, and
how a visitor approves one that changes something.

`kefu.tools` does no I/O itself. `kefu.upstream` sends its requests.
"""
