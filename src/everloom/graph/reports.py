"""The values of a report on a graph: what was assumed about its files, and which links lead nowhere."""

from __future__ import annotations

from dataclasses import dataclass

from everloom.graph.results import Assumption, FileProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedFile:
    """A file that is not in the graph's own format, and what was assumed to read it."""

    path: str
    id: str
    title: str
    has_id: bool
    assumed: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLink:
    """A link in a text that leads to no memory."""

    path: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReport:
    """The result of `report`: what was assumed about files, which links lead nowhere, and which files cannot be read.

    The numbers count all of them, also those that were left off.
    """

    graph: str
    directory: str
    memories: int
    plain_notes: int
    text_links: int
    assumed: tuple[AssumedFile, ...]
    unresolved: tuple[LostLink, ...]
    problems: tuple[FileProblem, ...]
    note: str | None = None
