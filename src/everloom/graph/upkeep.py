"""The verbs that look at a graph as a whole and keep it in order: for people, and no tools of models.

Declarations only, for `verbs.Graph` to inherit.
"""
# ruff: noqa: A002  the front matter's names

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from everloom.graph import reports, results
from everloom.graph.parameters import FILE, GET, Id, Limit, Types, WithTags
from everloom.kernel.verbs import (
    ADDS_ONCE,
    ANSWER_TOKENS,
    DESTROYS,
    PAGE_TOKENS,
    READS,
    Beyond,
    Key,
    MaxTokens,
    MaxTokensOfRecord,
    Says,
    helps,
    verb,
)

if TYPE_CHECKING:
    from pathlib import Path

    from everloom.graph.index.catalog import OpenGraph


class UpkeepVerbs:
    """The verbs on a graph beyond what an agent needs."""

    _graph: OpenGraph

    def keep_history(self) -> str | None:
        """Make the directory a git repository, unless it is one; returns what went wrong, or None."""
        return self._graph.git.begin()

    def follow(self, paths: Collection[str] | None = None) -> results.Followed:
        """Update the index from the files, with what another program left beside them, or from some of the files.

        Unchanged files are not read.
        """
        from everloom.graph.files.beside import BESIDE
        from everloom.graph.index.adoption import follow_directory
        from everloom.graph.index.scan import scan_some
        from everloom.graph.kinds import ACCESS

        if paths is None or any(path == ACCESS or path in BESIDE for path in paths):
            return follow_directory(self._graph)
        return scan_some(self._graph, paths)

    def import_directory(self, source: Path) -> results.Imported:
        """Import an existing directory: its files unchanged, access counts, and vectors of the same model."""
        from everloom.graph.operations.importing import import_directory

        return import_directory(self._graph, source)

    @verb("Recent memories", READS)
    def recent(
        self, *, limit: Limit = 20, beyond: Beyond = None, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> Sequence[results.MemoryBrief]:
        """List the most recently changed memories."""
        from everloom.graph.index.recall import LIVING, list_memories
        from everloom.kernel.answer.budget import fitted

        return fitted(list_memories(self._graph, LIVING, limit, beyond), max_tokens, way=GET)

    @verb("Report", READS)
    def report(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> reports.GraphReport:
        """List what was assumed to read files, links that lead nowhere, and files that cannot be read."""
        from everloom.graph.operations.report import report
        from everloom.kernel.answer.budget import fitted

        return fitted(report(self._graph), max_tokens, way=None)

    @verb("Draw", READS)
    def draw(
        self,
        id: Annotated[str | None, helps("only what is around this memory", metavar="ID")] = None,
        *,
        hops: Annotated[int, helps("how many steps around it, 1 to 4", least=1, most=4)] = 1,
        types: Types = None,
        tags: WithTags = None,
        statuses: Annotated[
            Sequence[Literal["active", "fading", "dormant", "archived"]] | None, helps("only memories in these states")
        ] = None,
        limit: Annotated[int, helps("maximum number of memories", least=1, most=200)] = 100,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> results.Drawing:
        """Show the strongest of the newest memories, or those around one, and the relations between them."""
        from everloom.graph.operations.overview import DrawingRequest, draw
        from everloom.kernel.answer.budget import fitted

        asked = DrawingRequest(id, hops, types, tags, statuses, limit)
        return fitted(draw(self._graph, asked), max_tokens, way=GET)

    @verb("File history", READS)
    def history(
        self, id: Id, *, limit: Limit = 20, max_tokens: MaxTokens = ANSWER_TOKENS
    ) -> tuple[results.FileVersion, ...]:
        """List the commits that changed a memory's file, if its directory is a git repository."""
        from everloom.graph.operations.overview import history
        from everloom.kernel.answer.budget import fitted

        return fitted(history(self._graph, id, limit), max_tokens, way=None)

    @verb("File version", READS, cli=False)
    def version(
        self,
        id: Id,
        commit: Annotated[str, helps("the commit, or the beginning of it", metavar="COMMIT")],
        *,
        limit: Limit = 100,
        max_tokens: MaxTokensOfRecord = None,
    ) -> results.CommittedFile:
        """Show a memory's file as it was in a commit; `limit` is how many of its commits are looked at."""
        from everloom.graph.operations.overview import version
        from everloom.kernel.answer.budget import fitted

        return fitted(version(self._graph, id, commit, limit), max_tokens, way=None)

    @verb("Generated pages", READS)
    def pages(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> tuple[results.Page, ...]:
        """Show CORE.md and REFLECTION.md as they were last written."""
        from everloom.graph.kinds import CORE, REFLECTION
        from everloom.graph.pages.core import read_page
        from everloom.kernel.answer.budget import fitted

        found = (read_page(self._graph, self._graph.page(name)) for name in (CORE, REFLECTION))
        return fitted(tuple(each for each in found if each is not None), max_tokens, way=FILE)

    @verb("Merge two memories", DESTROYS)
    def merge(
        self,
        keep: Annotated[str, Says("the memory that stays")],
        duplicate: Annotated[str, Says("the memory that is merged into it")],
        *,
        idempotency_key: Key = None,
    ) -> results.MergedMemory:
        """Merge one memory into another."""
        from everloom.graph.operations.memories import merge

        graph = self._graph.under("merge", idempotency_key, keep=keep, duplicate=duplicate)
        return merge(graph, keep, duplicate)

    @verb("Pin a memory", ADDS_ONCE)
    def pin(self, id: Id, *, idempotency_key: Key = None) -> results.Changed:
        """Move a memory to the vault, where it does not decay."""
        from everloom.graph.operations.memories import pin

        return pin(self._graph.under("pin", idempotency_key, id=id), id, pinned=True)

    @verb("Unpin a memory", ADDS_ONCE)
    def unpin(self, id: Id, *, idempotency_key: Key = None) -> results.Changed:
        """Move a memory out of the vault."""
        from everloom.graph.operations.memories import pin

        return pin(self._graph.under("unpin", idempotency_key, id=id), id, pinned=False)

    @verb("Decay", ADDS_ONCE)
    def decay(self, *, idempotency_key: Key = None) -> results.Decayed:
        """Compute the strength of every memory, archive those that have decayed, and restore those in use again."""
        from everloom.graph.index.decay import decay

        graph = self._graph.under("decay", idempotency_key)
        return graph.once.do(graph.op, results.Decayed, lambda: decay(graph))

    @verb("Reindex", ADDS_ONCE)
    def reindex(
        self,
        *,
        write_json: Annotated[bool, Says("also write _index.json and _state.json for other tools")] = False,
        idempotency_key: Key = None,
    ) -> results.Reindexed:
        """Read every file again, and complete relations that only one memory lists."""
        from everloom.graph.operations.importing import reindex

        graph = self._graph.under("reindex", idempotency_key, write_json=write_json)
        return graph.once.do(graph.op, results.Reindexed, lambda: reindex(graph, as_json=write_json))
