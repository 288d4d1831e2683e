"""Scenes: what one is, how it is read, kept, merged and pinned, and the clusters that scenes belong to.

Refuses to know patrols, recall and entries: they stand on this room.
"""
