"""Sends one completion request to a model: the key pool, retries, time limits, and the stream of
checked chunks.

`kefu.relay` does not use conversations, HTTP servers or settings. The relay reaches the network,
the clock and the shared cooldowns through the ports `Upstream`, `Clock` and `CooldownStore`.

Read `relay` and `key_search` first: they ask keys until a key answers, and read the answer to its
end. `attempt` asks one key, `failures` decides the step after a failure. `call` is one request with
its progress.
"""
