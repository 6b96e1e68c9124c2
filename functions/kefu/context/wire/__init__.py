"""Reads the messages of other APIs, so that they can be trimmed without being converted.

`shapes` understands one object: a message of OpenAI's chat completions, of Anthropic, or an item of
OpenAI's Responses API. `reading` presents a list of them to the strategies, and reads only the
objects that a strategy asks for. `edits` makes copies with shorter tool results. The modules of
`wire` are imported only when a list has other objects than `kefu.messages.Message`.
"""
