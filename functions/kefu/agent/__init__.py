"""The ReAct loop of the terminal chat: tool calls, the event log, and resuming from the log.

The package has no code for the terminal, for HTTP or for the chats that the service stores.

Programs import from `kefu.agent.react`. `kefu.agent` imports nothing, so that `kefu chat` can
create a session id before it loads the slow imports.
"""
