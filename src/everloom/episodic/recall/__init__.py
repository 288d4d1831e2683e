"""Bringing scenes back: in fragments, by cluster, on purpose, and as the context that a conversation begins with.

Refuses to know how scenes came to be; the one search finds them.
"""
