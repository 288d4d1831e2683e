"""The values that the graph takes and returns: frozen, with the field names of the front matter.

Holds values only. Times are aware and in UTC; `id` is the uuid in the front matter, `item` the id in the store, and
`note` what was left off to keep within the budget of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from everloom.errors import Conflict, EverloomError
from everloom.kernel.answer.encode import SAID

# A refusal tells the first reasons; the answer has them all.
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One side of a relation, as a memory's front matter lists it."""

    target: str
    type: str
    direction: str
    strength: float | None = None
    context: str | None = None
    edge_id: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what identifies a relation among those of one memory."""
        return self.target, self.type, self.direction


@dataclass(frozen=True, slots=True)
class Assumption:
    """What was assumed when a file was read: about which field, and what."""

    field: str
    reason: str


NO_ID = Assumption("id", "the file has none: it is known by its path until it is first changed here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as read from its file, with the state that the store holds about it."""

    id: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...] = field(default=(), metadata=SAID)
    importance: float = 0.5
    confidence: float = 0.8
    steps: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    # Written into the file if it is worth less than what the agent says itself.
    origin: str | None = None
    created: datetime
    updated: datetime
    relations: tuple[Relation, ...] = field(default=(), metadata=SAID)
    # Other names; what the text mentions: tags with a hash, and the insides of [[links]]. Only the text says so.
    aliases: tuple[str, ...] = ()
    body_tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    path: str = ""
    item: int = 0
    access_count: int = 0
    last_accessed: datetime | None = None
    decay_score: float = 0.0
    status: str = ""
    version: str = ""
    note: str | None = None

    @property
    def has_own_id(self) -> bool:
        """Say whether the file itself holds the id."""
        return NO_ID not in self.assumed

    @property
    def all_tags(self) -> tuple[str, ...]:
        """List the tags of the front matter and of the text."""
        return tuple(dict.fromkeys([*self.tags, *self.body_tags]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation with its own description, as read from its file."""

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
    version: str = ""
    # Only a [[link]] in the text of the first memory, whose file `path` is then; there is no file of the edge.
    in_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """The settings of graphs; `known_projects` are the tags that name projects.

    `ignore` are folders whose notes are no memories, and `pages` is the folder of the generated pages.
    """

    known_projects: tuple[str, ...] = ()
    auto_commit: bool = True
    auto_edges: bool = True
    # Whether CORE.md and REFLECTION.md are part of the history.
    commit_pages: bool = True
    # Where the record of use travels: "git" or "store".
    access: str = "git"
    # Whether git may ask everloom to merge the graph's files.
    merge_driver: bool = True
    ignore: tuple[str, ...] = ("templates",)
    pages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBrief:
    """A memory in a list of results; the last four fields are set when a query found it.

    `answers` is how likely it is that the memory answers the query, and `fits` whether that is enough.
    """

    id: str
    item: int
    type: str
    title: str
    tags: tuple[str, ...] = field(metadata=SAID)
    importance: float
    preview: str
    decay_score: float
    status: str
    updated: datetime
    path: str
    score: float | None = None
    similarity: float | None = None
    answers: float | None = None
    fits: bool | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that a query found; `degraded` names a part of the search that was not available.

    `note` says that nothing fits the query well, and that the memories are only the nearest.
    """

    memories: tuple[MemoryBrief, ...] = field(metadata=SAID)
    degraded: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoEdge:
    """A relation that was created automatically when a memory was stored."""

    edge_id: str
    from_id: str
    to_id: str
    type: str
    strength: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The result of `store`."""

    id: str
    item: int
    path: str
    version: str = ""
    # Said of a memory that waits for review, with `item` as its id; it has no file yet.
    held: str | None = None
    auto_edges: tuple[AutoEdge, ...] = ()
    auto_edge_error: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The result of an operation that changes one memory."""

    id: str
    path: str
    version: str = ""
    changed: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedMemory:
    """The result of `delete`: what was removed."""

    id: str
    path: str
    edges: tuple[str, ...] = ()
    other_sides: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedMemory:
    """The result of `merge`."""

    id: str
    merged: str
    path: str
    relations_moved: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """The result of `relate` and `edge_update`."""

    edge: Edge
    created: bool
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedMemory:
    """A memory that was reached by following relations, and the relation that led to it."""

    memory: MemoryBrief
    hops: int
    via: str
    type: str
    direction: str
    strength: float | None
    edge_id: str | None
    in_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRelation:
    """A relation between two memories that are drawn."""

    from_id: str
    to_id: str
    type: str
    strength: float | None
    context: str | None
    edge_id: str | None
    in_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The result of `draw`: memories and the relations between them.

    `types`, `tags` and `statuses` count the memories that were looked at, from which those that are drawn were chosen.
    """

    memories: tuple[MemoryBrief, ...]
    relations: tuple[DrawnRelation, ...]
    looked_at: int
    is_whole: bool
    types: Mapping[str, int]
    tags: Mapping[str, int]
    statuses: Mapping[str, int]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A commit that changed the file of a memory, and where the file was then."""

    commit: str
    at: datetime
    author: str
    message: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedFile:
    """The file of a memory as it was in a commit."""

    version: FileVersion
    text: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that cannot be used as it is, with the line and the reason; the file was not changed."""

    path: str
    line: int | None
    reason: str


# What to do about files that cannot be used.
MEND = "correct the files that are named: they are read again as soon as they change"


def _skipped(problems: Sequence[FileProblem], hint: str) -> EverloomError | None:
    """Make the error for files that cannot be used."""
    if not problems:
        return None
    why = "; ".join(f"{each.path}: {each.reason}" for each in problems[:_MOST_REASONS])
    return Conflict(f"{len(problems)} files cannot be used ({why})", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What changed in the index when it was updated from the files."""

    read: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def refusal(self) -> EverloomError | None:
        """Why some files are not in the index."""
        return _skipped(self.problems, MEND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """The result of `reindex`: what was found, repaired and written."""

    followed: Followed
    memories: int
    edges: int
    repaired: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decayed:
    """The result of `decay`: memories by state, and how many were archived or became active again."""

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
    """The result of `episode`."""

    path: str
    heading: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEpisode:
    """An entry in the diary of a graph, as `list_episodes` shows it; the file knows its minute."""

    graph: str
    happened_at: datetime
    title: str
    text: str


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
    """An insight drawn from a group of similar memories; `id` is set when it was stored."""

    title: str
    content: str
    tags: tuple[str, ...]
    sources: tuple[str, ...]
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    """The result of `reflect`: insights, and suggestions for missing tags and relations."""

    looked_at: int
    clusters: int
    insights: tuple[InsightProposal, ...] = ()
    tag_suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edge_suggestions: tuple[tuple[str, str, float], ...] = ()
    episode: str | None = None
    notices: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of `import`: what was imported, and what was skipped and why."""

    graph: str
    directory: str
    # Said of an import that waits for review: nothing was copied yet.
    held: str | None = None
    files: int = 0
    memories: int = 0
    edges: int = 0
    states: int = 0
    vectors: int = 0
    reflections: int = 0
    # What its own settings say, by the names of ours; whoever imports decides whether to take them over.
    settings: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def refusal(self) -> EverloomError | None:
        """Why some files were not taken in."""
        again = "what was not copied comes when the directory is imported again"
        return _skipped(self.skipped, f"correct them in {self.directory}, where they are read again at once; {again}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphInfo:
    """One graph in the list of a workspace's graphs."""

    name: str
    directory: str
    memories: int
    edges: int
    is_git: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """The result of `stats`."""

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
    # What to do about the problems, once for all of them.
    mend: str | None = None
    # Files without an id, files about which anything was assumed, and links in texts; `report` names them.
    plain_notes: int = 0
    assumed: int = 0
    text_links: int = 0
    note: str | None = None
