"""The verbs of the memory graph, declared once: every surface derives its commands and tools from this class.

For surfaces: each verb works on one graph, named by the selector `graph`, which the faculty declares and no verb does.
`memory_graphs` is a verb of `Graphs`, which needs no graph. A verb `edge_…` is a command of the group `edge`. `Tags` is
a list, or one text that the verb itself splits; a flag with a slash is a pair of switches. Holds no rule itself; each
method imports the module that carries it out when it is called.
"""
# ruff: noqa: A002, PLR0913  the front matter's names, and as many as it has

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from everloom.graph import results
from everloom.graph.parameters import (
    EDGE_GET,
    FILE,
    GET,
    After,
    Archived,
    Before,
    Confidence,
    Connect,
    Content,
    Description,
    EdgeId,
    Id,
    Importance,
    Limit,
    MemoryType,
    MinImportance,
    Origin,
    Refresh,
    Relations,
    RelationType,
    Share,
    Steps,
    Tags,
    Title,
    Type,
    Types,
    Version,
    WithTags,
)
from everloom.graph.upkeep import UpkeepVerbs
from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    ANSWER_TOKENS,
    DESTROYS,
    PAGE_TOKENS,
    READS,
    AnyMethod,
    Beyond,
    Effect,
    FitsOnly,
    Key,
    MaxTokens,
    MaxTokensOfRecord,
    Says,
    helps,
    verb,
)

if TYPE_CHECKING:
    from everloom.graph.index.catalog import OpenGraph


def _tool(
    title: str, effect: Effect, models: str | None = None, *, agent: bool = False
) -> Callable[[AnyMethod], AnyMethod]:
    """Declare a verb that is also a tool for models, named `memory_` and the method's name."""

    def declare(method: AnyMethod) -> AnyMethod:
        name = f"memory_{method.__name__}"
        return verb(title, effect, tools=("graph",), tool=name, models=models, agent=agent)(method)

    return declare


class Graph(UpkeepVerbs):
    """One graph of one workspace: a directory of markdown memories."""

    def __init__(self, opened: OpenGraph) -> None:
        self.op = opened.op
        self._graph = self.opened = opened
        self.name = opened.name

    @property
    def directory(self) -> Path:
        """Return the directory that holds the files."""
        return self._graph.disk.root

    @property
    def is_git(self) -> bool:
        """Say whether the directory is a git repository."""
        return self._graph.git.is_repository

    @_tool(
        "Store a memory",
        ADDS,
        """Store a memory as a markdown file. Relations to similar memories are added automatically (auto_edges).
        steps, pre- and postconditions are for procedures. Recall first: update an existing memory rather than storing
        it twice.""",
        agent=True,
    )
    def store(
        self,
        *,
        type: Type,
        title: Title,
        content: Content,
        tags: Tags = None,
        importance: Importance = 0.5,
        confidence: Confidence = 0.8,
        steps: Steps = None,
        preconditions: Before = None,
        postconditions: After = None,
        connect: Connect = None,
        origin: Origin = None,
        idempotency_key: Key = None,
    ) -> results.Stored:
        """Store a new memory."""
        from everloom.graph.operations.memories import MemoryFields, store

        lists = (steps, preconditions, postconditions)
        fields = MemoryFields(type, title, content, tags, importance, confidence, *lists)
        graph = self._graph.under("store", idempotency_key, fields=fields, connect=connect, origin=origin)
        return store(graph.told_by(origin), fields, connect)

    @verb("Store a procedure", ADDS)
    def procedure(
        self,
        title: Title,
        content: Content,
        *,
        steps: Annotated[Sequence[str], Says("a step, in order", flag="--step")],
        preconditions: Before = None,
        postconditions: After = None,
        tags: Tags = None,
        importance: Importance = 0.5,
        confidence: Confidence = 0.8,
        connect: Connect = None,
        origin: Origin = None,
        idempotency_key: Key = None,
    ) -> results.Stored:
        """Store a procedure with its steps."""
        from everloom.graph.operations.memories import MemoryFields, store

        lists = (steps, preconditions, postconditions)
        fields = MemoryFields("procedure", title, content, tags, importance, confidence, *lists)
        graph = self._graph.under("procedure", idempotency_key, fields=fields, connect=connect, origin=origin)
        return store(graph.told_by(origin), fields, connect)

    @_tool(
        "Recall",
        READS,
        """Find the memories that match a question, by meaning and words, best match first. Archived ones (status)
        come after others that answer as well, unless archived is true.""",
        agent=True,
    )
    def recall(
        self,
        query: Annotated[str, helps("a question, or words to search for", metavar="QUERY")],
        *,
        limit: Limit = 10,
        types: Types = None,
        tags: WithTags = None,
        min_importance: MinImportance = 0.0,
        archived: Archived = False,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.Recalled:
        """Find the memories that match a question, best match first."""
        from everloom.graph.index.recall import count_used, recall, sieve_for
        from everloom.kernel.answer.budget import fitted

        within = sieve_for(types, tags, min_importance, archived=archived)
        found = recall(self._graph, query, limit, within, fits_only=fits_only)
        shown = fitted(found, max_tokens, way=GET)
        count_used(self._graph, shown)
        return shown

    @_tool("Get a memory", READS, "Read a whole memory with its relations; reading slows its decay.")
    def get(self, id: Id, *, max_tokens: MaxTokensOfRecord = None) -> results.Memory:
        """Read a memory from its file; this counts as an access."""
        from everloom.graph.operations.memories import get
        from everloom.kernel.answer.budget import fitted

        return fitted(get(self._graph, id), max_tokens, way=None)

    @_tool(
        "Search memories",
        READS,
        """List memories by type, tags (all of them) and importance, most recently changed first, archived ones last;
        with a query, best match first.""",
    )
    def search(
        self,
        *,
        query: Annotated[str, helps("words to search for")] = "",
        types: Types = None,
        tags: WithTags = None,
        min_importance: MinImportance = 0.0,
        limit: Limit = 20,
        beyond: Beyond = None,
        archived: Archived = False,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.Recalled:
        """List memories by type, tags and importance, most recently changed first."""
        from everloom.graph.index.recall import search, sieve_for
        from everloom.kernel.answer.budget import fitted

        within = sieve_for(types, tags, min_importance, archived=archived)
        found = search(self._graph, query, limit, within, beyond, fits_only=fits_only)
        return fitted(found, max_tokens, way=GET)

    @_tool(
        "Update a memory",
        ADDS_ONCE,
        """Change the given fields of a memory that you have read (memory_get), or give expected_version; the rest of
        its file stays byte for byte. tags replace the old ones. To add, use memory_append.""",
    )
    def update(
        self,
        id: Id,
        *,
        type: Annotated[MemoryType | None, helps("the new type; the file is moved")] = None,
        title: Annotated[str | None, helps("the new title")] = None,
        content: Annotated[str | None, helps("the new content")] = None,
        tags: Annotated[
            Sequence[str] | str | None, helps("the new tags, separated by commas; they replace the old ones")
        ] = None,
        importance: Share = None,
        confidence: Share = None,
        steps: Steps = None,
        preconditions: Before = None,
        postconditions: After = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.Changed:
        """Change the given fields of a memory that you have read; the rest of its file stays byte for byte."""
        from everloom.graph.operations.memories import MemoryFields, update

        lists = (steps, preconditions, postconditions)
        fields = MemoryFields(type, title, content, tags, importance, confidence, *lists)
        graph = self._graph.under("update", idempotency_key, id=id, fields=fields, version=expected_version)
        return update(graph, id, fields, expected_version)

    @_tool(
        "Append to a memory",
        ADDS,
        """Add to a memory without reading it first: content to the end of its text, and tags, steps and conditions that
        it does not have yet. Nothing that others added is lost.""",
        agent=True,
    )
    def append(
        self,
        id: Id,
        *,
        content: Annotated[str | None, helps("the text to add at the end")] = None,
        tags: Tags = None,
        steps: Steps = None,
        preconditions: Before = None,
        postconditions: After = None,
        idempotency_key: Key = None,
    ) -> results.Changed:
        """Add text, tags or steps to a memory; what others added stays."""
        from everloom.graph.operations.memories import MemoryFields, append

        lists = (steps, preconditions, postconditions)
        fields = MemoryFields(None, None, content, tags or None, None, None, *lists)
        return append(self._graph.under("append", idempotency_key, id=id, fields=fields), id, fields)

    @_tool("Delete a memory", DESTROYS)
    def delete(self, id: Id, *, idempotency_key: Key = None) -> results.DeletedMemory:
        """Delete a memory, its edges, and its entries in related memories."""
        from everloom.graph.operations.memories import delete

        return delete(self._graph.under("delete", idempotency_key, id=id), id)

    @_tool(
        "Relate two memories",
        ADDS_ONCE,
        "Add a relation from one memory to another; the same memories and type again change it.",
    )
    def relate(
        self,
        from_id: Annotated[str, helps("the memory where the relation starts")],
        to_id: Annotated[str, helps("the memory it leads to")],
        type: Annotated[RelationType, helps("what kind of relation it is")],
        *,
        strength: Share = None,
        context: Annotated[str | None, Says("the reason in a few words")] = None,
        description: Description = None,
        idempotency_key: Key = None,
    ) -> results.DrawnEdge:
        """Add a relation between two memories, or change an existing one."""
        from everloom.graph.operations.edges import relate

        ends = (from_id, to_id)
        told: dict[str, Any] = {"strength": strength, "context": context, "description": description}
        return relate(self._graph.under("relate", idempotency_key, ends=ends, type=type, **told), ends, type, **told)

    @_tool("Related memories", READS, "Follow relations from a memory, up to a number of hops.")
    def related(
        self,
        id: Id,
        *,
        hops: Annotated[int, helps("how many steps to follow, 1 to 5", least=1, most=5)] = 1,
        types: Relations = None,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> Sequence[results.RelatedMemory]:
        """List the memories that are related to a memory."""
        from everloom.graph.operations.edges import related
        from everloom.kernel.answer.budget import fitted

        return fitted(related(self._graph, id, hops=hops, kinds=types or ()), max_tokens, way=GET)

    @_tool("Get an edge", READS)
    def edge_get(self, id: EdgeId, *, max_tokens: MaxTokensOfRecord = None) -> results.Edge:
        """Read an edge with its description."""
        from everloom.graph.operations.edges import get_edge
        from everloom.kernel.answer.budget import fitted

        return fitted(get_edge(self._graph, id), max_tokens, way=None)

    @_tool(
        "Search edges", READS, "Find edges by words in their titles or description, by type, or by a memory at one end."
    )
    def edge_search(
        self,
        *,
        query: Annotated[str, helps("words in the titles or the description")] = "",
        type: Annotated[RelationType | None, helps("only edges of this type")] = None,
        memory_id: Annotated[str | None, helps("only edges of this memory", flag="--memory", metavar="ID")] = None,
        limit: Limit = 20,
        beyond: Beyond = None,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> Sequence[results.Edge]:
        """Find edges by words, type or memory."""
        from everloom.graph.operations.edges import search_edges
        from everloom.kernel.answer.budget import fitted

        found = search_edges(self._graph, query, kind=type, memory=memory_id, limit=limit, beyond=beyond)
        return fitted(found, max_tokens, way=EDGE_GET)

    @_tool("Update an edge", ADDS_ONCE, "Change an edge; both memories' sides are updated.")
    def edge_update(
        self,
        id: EdgeId,
        *,
        type: Annotated[RelationType | None, helps("the new type")] = None,
        strength: Share = None,
        description: Annotated[str | None, helps("the new description")] = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.DrawnEdge:
        """Change an edge that you have read, and update the relation in both memories."""
        from everloom.graph.operations.edges import EdgeFields, update_edge

        wanted = EdgeFields(type, strength, description)
        graph = self._graph.under("edge_update", idempotency_key, id=id, fields=wanted, version=expected_version)
        return update_edge(graph, id, wanted, expected_version)

    @_tool("Delete an edge", DESTROYS)
    def edge_delete(self, id: EdgeId, *, idempotency_key: Key = None) -> results.Edge:
        """Delete an edge: its file and the relation in both memories."""
        from everloom.graph.operations.edges import delete_edge

        return delete_edge(self._graph.under("edge_delete", idempotency_key, id=id), id)

    @_tool("Note an episode", ADDS, "Add an entry to today's diary, which is append-only.")
    def episode(
        self,
        title: Annotated[str, helps("what happened, in one line")],
        *,
        type: Annotated[str, helps("what kind of event it was")] = "",
        tags: Tags = None,
        summary: Annotated[str, helps("a one-sentence summary")] = "",
        memory_id: Annotated[str | None, helps("the memory it is about", flag="--memory", metavar="ID")] = None,
        idempotency_key: Key = None,
    ) -> results.NotedEpisode:
        """Add an entry to today's diary."""
        from everloom.graph.files.fields import checked_tags
        from everloom.graph.pages.episodes import Episode, add_episode

        told: dict[str, Any] = {"title": title, "type": type, "tags": checked_tags(tags), "summary": summary}
        graph = self._graph.under("episode", idempotency_key, **told, memory_id=memory_id)
        return add_episode(graph, Episode(**told), memory_id)

    @_tool(
        "Reflect",
        ADDS,
        """Group similar memories; store insights (if a model is configured) or propose them; suggest tags and
        relations. Without a model, read the proposals and store the insights yourself with memory_store and
        memory_relate.""",
    )
    def reflect(
        self,
        *,
        dry_run: Annotated[bool, helps("only propose insights: write nothing and call no model")] = False,
        max_tokens: MaxTokens = PAGE_TOKENS,
        idempotency_key: Key = None,
    ) -> results.Reflected:
        """Group similar memories, and store insights with a language model, or propose them without one."""
        from everloom.graph.pages.insights import reflect
        from everloom.kernel.answer.budget import fitted

        graph = self._graph.under("reflect", idempotency_key)
        if dry_run:
            return fitted(reflect(graph, dry_run=True), max_tokens, way=None)
        return fitted(graph.once.do(graph.op, results.Reflected, lambda: reflect(graph)), max_tokens, way=None)

    @_tool(
        "Reflection page",
        ADDS_ONCE,
        "REFLECTION.md: themes, patterns across projects, most-read memories, insights, merges.",
    )
    def reflection(
        self, *, refresh: Refresh = True, max_tokens: MaxTokens = PAGE_TOKENS, idempotency_key: Key = None
    ) -> results.Page:
        """Write REFLECTION.md: themes, patterns and insights."""
        from everloom.graph.kinds import REFLECTION
        from everloom.graph.pages.core import read_page
        from everloom.graph.pages.reflection import write_reflection
        from everloom.kernel.answer.budget import fitted

        graph = self._graph
        if refresh:
            once = graph.under("reflection", idempotency_key).once
            page = once.do(graph.op, results.Page, lambda: write_reflection(graph))
        else:
            page = read_page(graph, graph.page(REFLECTION)) or write_reflection(graph, is_asked=False)
        return fitted(page, max_tokens, way=FILE)

    @_tool("Core page", ADDS_ONCE, "CORE.md: the most active memories, on one page.")
    def core(
        self, *, refresh: Refresh = True, max_tokens: MaxTokens = PAGE_TOKENS, idempotency_key: Key = None
    ) -> results.Page:
        """Write CORE.md, which lists the most active memories."""
        from everloom.graph.kinds import CORE
        from everloom.graph.pages.core import read_page, write_core
        from everloom.kernel.answer.budget import fitted

        graph = self._graph
        if refresh:
            once = graph.under("core", idempotency_key).once
            page = once.do(graph.op, results.Page, lambda: write_core(graph))
        else:
            page = read_page(graph, graph.page(CORE)) or write_core(graph, is_asked=False)
        return fitted(page, max_tokens, way=FILE)

    @_tool("Tags", READS, "Count tags, count those that occur with one, or suggest tags for a memory.")
    def tags(
        self,
        *,
        action: Annotated[
            Literal["list", "related", "suggest"], helps("which list; the other options imply it")
        ] = "list",
        tag: Annotated[
            str | None, Says("for related: list the tags that occur with this one", flag="--related")
        ] = None,
        id: Annotated[str | None, Says("for suggest: tags that this memory may lack", flag="--suggest")] = None,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> Sequence[results.TagCount] | results.SuggestedTags:
        """List all tags, the tags that occur with one, or tags that a memory may lack."""
        from everloom.errors import Rejected
        from everloom.graph.operations.suggestions import list_tags, tags_for
        from everloom.kernel.answer.budget import fitted

        if tag is not None and id is not None:
            raise Rejected("give a tag or an id, not both", hint="ask for one at a time")
        if (action == "related" and tag is None) or (action == "suggest" and id is None):
            raise Rejected(f"{action} needs {'a tag' if action == 'related' else 'an id'}", hint="give it")
        return fitted(list_tags(self._graph, tag), max_tokens) if id is None else tags_for(self._graph, id)

    @_tool("Statistics", READS, "Count memories by type and state, edges and tags; list files that cannot be read.")
    def stats(self, *, max_tokens: MaxTokens = ANSWER_TOKENS) -> results.GraphStats:
        """Count memories, edges and tags, and list files that cannot be read."""
        from everloom.graph.index.catalog import stats
        from everloom.kernel.answer.budget import fitted

        return fitted(stats(self._graph), max_tokens, way=None)
