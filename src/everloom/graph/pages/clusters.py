"""Groups of what is alike, by union-find. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Union:
    """Sets that can only grow together."""

    def __init__(self, members: Iterable[str]) -> None:
        self._parent = {member: member for member in members}

    def root(self, member: str) -> str:
        """Find the one that stands for a member's set."""
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def join(self, one: str, other: str) -> None:
        """Put two sets together."""
        self._parent[self.root(one)] = self.root(other)


def groups(members: Sequence[str], pairs: Iterable[tuple[str, str]], least: int) -> list[list[str]]:
    """Gather members that are alike, directly or through others; largest group first, members in their order."""
    union = Union(members)
    known = set(members)
    for one, other in pairs:
        if one in known and other in known:
            union.join(one, other)
    found: dict[str, list[str]] = {}
    for member in members:
        found.setdefault(union.root(member), []).append(member)
    return sorted((group for group in found.values() if len(group) >= least), key=len, reverse=True)
