"""The parts of the terminal chat: what `assembly` is to the service. `talk` puts them together.

Nothing is imported here: naming a session must not load what a model needs.
"""
