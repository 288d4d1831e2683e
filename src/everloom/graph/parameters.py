"""The parameters that the verbs of the graph share, described once. Holds no verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from everloom.kernel.verbs import Says, helps

MemoryType = Literal[
    "solution",
    "fix",
    "decision",
    "configuration",
    "problem",
    "workflow",
    "code_pattern",
    "error",
    "general",
    "procedure",
    "insight",
]
RelationType = Literal["SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO"]

Id = Annotated[str, helps("the memory's id, or the beginning of it", metavar="ID")]
EdgeId = Annotated[str, helps("the edge's id, or the beginning of it", metavar="ID")]
Type = Annotated[MemoryType, helps("what kind of memory it is")]
Title = Annotated[str, helps("a one-line title")]
Content = Annotated[str, helps("the text")]
Tags = Annotated[Sequence[str] | str | None, helps("separated by commas, or as JSON")]
Importance = Annotated[float, Says("0.8+ critical, 0.5-0.7 standard, 0.3-0.4 minor", least=0, most=1)]
Confidence = Annotated[float, helps("from 0 to 1", least=0, most=1)]
Share = Annotated[float | None, helps("from 0 to 1", least=0, most=1)]
Steps = Annotated[Sequence[str] | None, helps("a step of a procedure, in order", flag="--step")]
Before = Annotated[Sequence[str] | None, helps("what must be true before the procedure", flag="--precondition")]
After = Annotated[Sequence[str] | None, helps("what is true after the procedure", flag="--postcondition")]
Types = Annotated[Sequence[str] | None, helps("only these types: of the eleven, or of your own notes")]
WithTags = Annotated[Sequence[str] | str | None, helps("only memories that have all of these tags")]
Limit = Annotated[int, helps("maximum number of results", least=1, most=100)]
MinImportance = Annotated[float, helps("only memories at least this important", least=0, most=1)]
Archived = Annotated[bool, helps("rank archived memories like all others, not below them")]
Relations = Annotated[Sequence[RelationType] | None, helps("only relations of these types")]
Description = Annotated[str | None, Says("the reason in full: the edge's own text")]
Version = Annotated[str | None, Says("the version you read; fails if there is a newer one", metavar="VERSION")]
Refresh = Annotated[bool, helps("rewrite the page, or only read it", flag="--refresh/--read")]
# How a memory, an edge or a page is read in full.
GET, EDGE_GET, FILE = "memory_get {id}", "memory_edge_get {id}", "the file {path}"
Origin = Annotated[str | None, Says("tool, import, web:SITE")]
Connect = Annotated[bool | None, helps("relate it to similar memories automatically", flag="--edges/--no-edges")]
