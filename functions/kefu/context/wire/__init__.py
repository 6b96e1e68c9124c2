"""Reads the messages of other APIs, so that they can be trimmed without being converted.

`shapes` understands one message or item of any format, and `parts` the parts of its content.
`reading` presents a list of them to the strategies, and reads only the messages that a strategy
asks for. `pipeline` runs the stages, of which `shorten` has those that shorten tool results, in
copies that `edits` makes. The modules of `wire` are imported only when a list has other messages
than `kefu.messages.Message`, or more than one stage.
"""
