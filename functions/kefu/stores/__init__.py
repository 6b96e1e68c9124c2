"""Where shared state lives: one module per engine, the same promises from each.

`guarded` goes around any of them, so that a store that is down or slow never stops a chat.
"""
