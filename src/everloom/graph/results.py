"""What the graph is given and what it answers: frozen values, named as the front matter names them.

Values only. Times are aware and in UTC; `id` is the uuid of the front matter, `item` the id that the whole loom knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One side of a relation, as it stands in a memory's front matter."""

    target: str
    type: str
    direction: str
    strength: float | None = None
    context: str | None = None
    edge_id: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Say what makes two entries of a memory the same relation."""
        return self.target, self.type, self.direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as its file tells it, with the state that is kept beside the file."""

    id: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.8
    steps: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    created: datetime
    updated: datetime
    relations: tuple[Relation, ...] = ()
    path: str = ""
    item: int = 0
    access_count: int = 0
    last_accessed: datetime | None = None
    decay_score: float = 0.0
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation with a description of its own, as its file tells it."""

    id: str
    type: str
    from_id: str
    from_title: str
    to_id: str
    to_title: str
    strength: float
    created: datetime
    updated: datetime
    description: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """What can be chosen about graphs; `known_projects` are the tags that name projects."""

    known_projects: tuple[str, ...] = ()
    auto_commit: bool = True
    auto_edges: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBrief:
    """A memory in a list; `score` and `similarity` are there when a question found it."""

    id: str
    item: int
    type: str
    title: str
    tags: tuple[str, ...]
    importance: float
    preview: str
    decay_score: float
    status: str
    updated: datetime
    path: str
    score: float | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a question brought back, and whether any part of the search could not be done."""

    memories: tuple[MemoryBrief, ...]
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoEdge:
    """A relation that was drawn when a memory was stored."""

    edge_id: str
    from_id: str
    to_id: str
    type: str
    strength: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What `store` answers."""

    id: str
    item: int
    path: str
    auto_edges: tuple[AutoEdge, ...] = ()
    auto_edge_error: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What an operation on one memory answers."""

    id: str
    path: str
    changed: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedMemory:
    """What `delete` took away."""

    id: str
    path: str
    edges: tuple[str, ...] = ()
    other_sides: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedMemory:
    """What `merge` answers."""

    id: str
    merged: str
    path: str
    relations_moved: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """What `relate` and `edge_update` answer."""

    edge: Edge
    created: bool
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedMemory:
    """A memory some hops away, and the relation that led to it."""

    memory: MemoryBrief
    hops: int
    via: str
    type: str
    direction: str
    strength: float | None
    edge_id: str | None


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that cannot be used as it is, and where in it the trouble is; it was left untouched."""

    path: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What following the files changed in the index."""

    read: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """What `reindex` found and mended."""

    followed: Followed
    memories: int
    edges: int
    repaired: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decayed:
    """How alive the memories are, and which crossed the border since the last time."""

    counts: Mapping[str, int]
    archived: int
    revived: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A generated page: CORE.md or REFLECTION.md."""

    path: str
    text: str
    is_new: bool
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedEpisode:
    """What `episode` answers."""

    path: str
    heading: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag and how many memories have it."""

    tag: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedTags:
    """Tags that a memory lacks."""

    id: str
    suggested: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightProposal:
    """An insight that a group of similar memories suggests; `id` is set when it was written."""

    title: str
    content: str
    tags: tuple[str, ...]
    sources: tuple[str, ...]
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    """What `reflect` found: insights, and what seems to be missing."""

    looked_at: int
    clusters: int
    insights: tuple[InsightProposal, ...] = ()
    tag_suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edge_suggestions: tuple[tuple[str, str, float], ...] = ()
    episode: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What `import` brought in, and what it left out and why."""

    graph: str
    directory: str
    files: int
    memories: int
    edges: int
    states: int
    vectors: int
    skipped: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphInfo:
    """A graph of a workspace."""

    name: str
    directory: str
    memories: int
    edges: int
    is_git: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """What `stats` answers."""

    graph: str
    directory: str
    memories: int
    edges: int
    relations: int
    by_type: Mapping[str, int]
    by_status: Mapping[str, int]
    tags: int
    pinned: int
    reflections: int
    last_reflection: datetime | None
    problems: tuple[FileProblem, ...]
