"""Episodic memory: scenes, clusters, recall in fragments, and patrols that age, merge and revive them.

Owns what happened and how it felt. Refuses to know models, settings, surfaces and the other faculties: what it needs
from them is passed in through ports. Only the entry point is exported here, because it loads nothing; the rooms are
`scenes`, `recall`, `patrol` and `entries`, and each defines the results of its verbs.
"""

from everloom.episodic.verbs import Episodic

__all__ = ["Episodic"]
