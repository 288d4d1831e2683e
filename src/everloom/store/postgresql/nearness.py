"""The approximate indexes over vectors: which perspectives have one, which should, and what they are called.

Each belongs to one perspective of one workspace, so that a search there reads no vector of another. They are few: the
planner looks at every index of a table for every statement that it plans.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from everloom.store.postgresql.unit import PostgresUnit

# Up to this many vectors in a perspective, sorting them exactly is fast enough and loses nothing.
LARGE = 20_000
# 120 of them raised the planning of every statement about vectors from 0.1 to 1.2 ms. Beyond these, vectors are sorted.
MOST = 24
# How many candidates an index keeps while it searches. Recall of the nearest 50 among 200,000 and CPU: 100: .84, 4 ms;
# 200: .92, 7 ms; 300: .96, 11 ms; 400: .97, 14 ms; 1,000: .996, 31 ms; sorting all of them exactly takes 180 ms. Among
# a million: 200: .87, 17 ms; 400: .94, 25 ms; 600: .96, 33 ms; 1,000: .98, 42 ms; sorting them takes 560 ms.
EF_SEARCH = 600
# What building an index keeps of each vector beside its numbers, in bytes, and how many megabytes one build may take.
# A graph that does not fit is built on disk: of a million vectors, with PostgreSQL's 64 MB, a third in twenty minutes.
_LINKS = 800
_MOST_MEGABYTES = 2_000
# How old the knowledge of other processes' indexes may be, in seconds. Until then vectors are sorted, which finds more.
_AGE = 60.0
_NAME = re.compile(r"embedding_near_(\d+)_(\d+)_(\d+)")


class NearIndex(NamedTuple):
    """The index of a perspective: for one workspace and one model."""

    workspace: int
    model: int
    perspective: int

    @property
    def name(self) -> str:
        """The name of the index in the database."""
        return f"embedding_near_{self.workspace}_{self.model}_{self.perspective}"

    def definition(self, dim: int) -> str:
        """Write how it is created, without blocking writers."""
        return (
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {self.name} ON embedding USING hnsw "
            f"((vector::halfvec({dim})) halfvec_ip_ops) "
            f"WHERE workspace_id = {self.workspace} AND model_id = {self.model} AND perspective_id = {self.perspective}"
        )


def megabytes_for(count: int, dim: int) -> int:
    """Estimate the memory that building an index takes."""
    return min(_MOST_MEGABYTES, 1 + count * (2 * dim + _LINKS) // 1_000_000)


class NearIndexes:
    """The indexes that a search may use, as this process last saw them."""

    def __init__(self) -> None:
        self._known: frozenset[NearIndex] = frozenset()
        self._read_at = -_AGE

    def known(self, unit: PostgresUnit) -> frozenset[NearIndex]:
        """Return the indexes that are complete; they are asked for once in a while."""
        if time.monotonic() - self._read_at > _AGE:
            self._read_at = time.monotonic()
            self._known = frozenset(named([row["name"] for row in unit.all("vectors.indexes")]))
        return self._known

    def forget(self) -> None:
        """Ask again the next time: this process has changed something about them."""
        self._read_at = -_AGE


def named(names: Collection[str]) -> list[NearIndex]:
    """Read names of indexes; those that mean no perspective of a workspace are left out."""
    return [NearIndex(*map(int, match.groups())) for name in names if (match := _NAME.fullmatch(name))]


def superfluous(
    names: Collection[str], workspace: int, large: Collection[NearIndex], empty: Collection[str]
) -> list[str]:
    """List the indexes to drop: of perspectives of this workspace that are large no longer, and those without a vector.

    Also those of an earlier form, which were of a perspective in whichever workspace.
    """
    wanted = {each.name for each in large}
    own = {each.name for each in named(names) if each.workspace == workspace}
    known = {each.name for each in named(names)}
    return sorted(name for name in names if name not in wanted and (name in own or name in empty or name not in known))


def lacking(names: Collection[str], large: Sequence[NearIndex]) -> list[NearIndex]:
    """List the indexes to create, as many as there may be."""
    return [each for each in large if each.name not in names][: max(0, MOST - len(names))]
