"""Episodic memory: scenes, clusters, recall in fragments, and patrols that age, merge and revive them.

Owns what happened and how it felt. Refuses to know models, settings, surfaces and the other faculties: what it needs of
them comes in through ports. Only the way in is exported here, because it loads nothing; the rooms are `scenes`,
`recall`, `patrol` and `entries`, and each holds what its verbs answer.
"""

from everloom.episodic.verbs import Episodic

__all__ = ["Episodic"]
