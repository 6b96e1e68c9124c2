"""The commands of the command line, except the chat: `serve`, `init`, `doctor` and others.

`arguments` defines the arguments of all commands, also of `kefu chat`.
"""
