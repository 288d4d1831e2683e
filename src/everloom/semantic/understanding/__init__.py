"""Understandings: syntheses of the evidence.

Owns understandings and how one supersedes another, and the soul, protocol and orientation of a workspace. Refuses to
know who writes them: an agent through the verbs, or a model through `consolidation`.

Nothing is exported here: `recall.sessions` and `documents` need each other's rooms, and a front door would make their
imports circular.
"""
