"""Understandings: what the evidence amounts to.

Owns syntheses and how one supersedes another, and the soul, the protocol and the orientation of a workspace. Refuses to
know who writes them: an agent through the verbs, or a model through `consolidation`.

Nothing is exported here: sessions and documents import each other's rooms, and a front door would close the circle.
"""
