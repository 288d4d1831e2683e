"""The tools that tend semantic memory: subjects, understandings, consolidation. To converse, `semantic.py` is enough.

Each calls the operation of the same name with the same arguments. No `from __future__ import annotations`: see there.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from everloom.clock import read_instant
from everloom.surfaces.mcp.toolset import ADDS, ADDS_ONCE, DESTROYS, READS, Toolset

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.semantic import results
    from everloom.semantic.consolidation import results as work

TOOLS = Toolset()

Version = Annotated[int | None, Field(description="version you read; conflict if it moved on")]
Mode = Literal["hybrid", "embedding", "text"]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Kind = Literal["single_subject", "relationship", "structural", "soul", "protocol", "orientation"]


class SubjectArgument(BaseModel):
    """A subject to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str
    summary: str | None = None
    tags: list[str] = Field(default_factory=list)


class ObservationArgument(BaseModel):
    """An observation to be kept."""

    model_config = ConfigDict(extra="forbid")

    subject_names: list[str]
    content: str
    kind: str | None = None
    confidence: float | None = None
    observed_at: Annotated[str | None, Field(description="ISO date or time")] = None
    related_to: list[int] = Field(default_factory=list)


@TOOLS.verb("Create subjects", ADDS)
def create_subjects(ws: "Workspace", subjects: list[SubjectArgument]) -> "tuple[results.CreatedSubject, ...]":
    """Name subjects before anything is known of them; all or none, and none whose name or alias is taken."""
    from everloom.semantic import NewSubject  # noqa: PLC0415  listing the tools loads no faculty

    given = [NewSubject(name=each.name, summary=each.summary, tags=tuple(each.tags)) for each in subjects]
    return ws.semantic.create_subjects(given)


@TOOLS.verb("Get subjects", READS)
def get_subjects(ws: "Workspace", names: list[str]) -> "tuple[results.Subject, ...]":
    """Show subjects by name or alias, with versions."""
    return ws.semantic.get_subjects(names)


@TOOLS.verb("Get subjects by tag", READS)
def get_subjects_by_tag(ws: "Workspace", tag: str) -> "tuple[results.Subject, ...]":
    """Show the subjects that carry a tag."""
    return ws.semantic.get_subjects_by_tag(tag)


@TOOLS.verb("Set a subject's summary", ADDS_ONCE)
def set_subject_summary(
    ws: "Workspace", subject_name: str, summary: str, expected_version: Version = None
) -> "results.Subject":
    """Say in a line what a subject is."""
    return ws.semantic.set_subject_summary(subject_name, summary, expected_version=expected_version)


@TOOLS.verb("Set a subject's tags", ADDS_ONCE)
def set_subject_tags(
    ws: "Workspace", subject_name: str, tags: list[str], expected_version: Version = None
) -> "results.Subject":
    """Replace a subject's tags."""
    return ws.semantic.set_subject_tags(subject_name, tags, expected_version=expected_version)


@TOOLS.verb("Add an alias", ADDS_ONCE)
def add_alias(ws: "Workspace", subject_name: str, alias: str, expected_version: Version = None) -> "results.Subject":
    """Let a subject be found under another name too."""
    return ws.semantic.add_alias(subject_name, alias, expected_version=expected_version)


@TOOLS.verb("Remove an alias", ADDS_ONCE)
def remove_alias(ws: "Workspace", subject_name: str, alias: str, expected_version: Version = None) -> "results.Subject":
    """Take another name from a subject; its own name stays."""
    return ws.semantic.remove_alias(subject_name, alias, expected_version=expected_version)


@TOOLS.verb("Set a structural understanding", ADDS)
def set_structural_understanding(
    ws: "Workspace", subject_name: str, content: str, expected_version: Version = None
) -> "results.StructuralUnderstanding":
    """Write or replace the note on a subject's identity: containment, merges, overlaps. Never what an observation or
    understanding could say."""
    return ws.semantic.set_structural_understanding(subject_name, content, expected_version=expected_version)


@TOOLS.verb("Add observations", ADDS_ONCE)
def add_observations(ws: "Workspace", observations: list[ObservationArgument]) -> "tuple[results.Added, ...]":
    """Keep many observations at once, all or none."""
    from everloom.semantic import NewObservation  # noqa: PLC0415

    given = [
        NewObservation(
            subject_names=tuple(each.subject_names),
            content=each.content,
            kind=each.kind,
            confidence=each.confidence,
            observed_at=observed(each.observed_at, ws),
            related_to=tuple(each.related_to),
        )
        for each in observations
    ]
    return ws.semantic.add_observations(given)


def observed(text: str | None, ws: "Workspace") -> datetime | None:
    """Read when something was observed, in the workspace's own time."""
    return None if text is None else read_instant(text, ws.info.zone)


@TOOLS.verb("Delete observations", DESTROYS)
def delete_observations(ws: "Workspace", ids: list[int]) -> "results.DeletedObservations":
    """Take back slips of this conversation, before the next consolidation begins; others are left, with reasons."""
    return ws.semantic.delete_observations(ids)


@TOOLS.verb("Query observations", READS)
def query_observations(
    ws: "Workspace", subject_names: list[str], query: str, mode: Mode = "hybrid", limit: int = 20
) -> "tuple[results.SemanticHit, ...]":
    """Search the observations that are tagged with all of these subjects."""
    return ws.semantic.query_observations(subject_names, query, mode, limit=limit)


@TOOLS.verb("Create an understanding", ADDS)
def create_understanding(  # noqa: PLR0913, PLR0917  the contract's parameters
    ws: "Workspace",
    subject_names: list[str],
    content: str,
    summary: str,
    kind: Kind | None = None,
    source_observation_ids: list[int] | None = None,
    seen_through_id: Annotated[int | None, Field(description="as_of_id of what you read")] = None,
    expected_version: Version = None,
) -> "results.CreatedUnderstanding":
    """Write what is understood of one subject, or of what two or more mean to each other. Supersedes the active one of
    the same kind and subjects."""
    return ws.semantic.create_understanding(
        subject_names,
        content,
        summary,
        kind=kind,
        source_observation_ids=source_observation_ids,
        seen_through_id=seen_through_id,
        expected_version=expected_version,
    )


@TOOLS.verb("Get understandings", READS)
def get_understandings(ws: "Workspace", subject_names: list[str]) -> "tuple[results.Understanding, ...]":
    """Show the active understandings of all of these subjects together, with sources and versions."""
    return ws.semantic.get_understandings(subject_names)


@TOOLS.verb("Get an understanding's history", READS)
def get_understanding_history(ws: "Workspace", understanding_id: int) -> "tuple[results.Understanding, ...]":
    """Walk back from an understanding through all that it supersedes."""
    return ws.semantic.get_understanding_history(understanding_id)


@TOOLS.verb("Search", READS)
def search(ws: "Workspace", query: str, limit: int = 10, mode: Mode = "hybrid") -> "tuple[results.SemanticHit, ...]":
    """Search understandings and observations, strongest first; marks nothing as seen."""
    return ws.semantic.search(query, limit, mode)


@TOOLS.verb("Get the consolidation report", READS)
def get_consolidation_report(ws: "Workspace", limit: int = 100) -> "work.ConsolidationReport":
    """List what waits for consolidation, the most valuable first; at most `limit` of each sort."""
    return ws.semantic.get_consolidation_report(limit=limit)


@TOOLS.verb("Get what waits for consolidation", READS)
def get_pending_consolidation(ws: "Workspace", limit: int = 100) -> "tuple[work.Pending, ...]":
    """List subjects and intersections with news, in the order to take them."""
    return ws.semantic.get_pending_consolidation(limit=limit)


@TOOLS.verb("Begin a consolidation", ADDS)
def begin_consolidation(ws: "Workspace") -> "work.BegunConsolidation":
    """Begin a generation; answers the report to work through."""
    return ws.semantic.begin_consolidation()


@TOOLS.verb("Finish a consolidation", ADDS)
def finish_consolidation(
    ws: "Workspace",
    generation: int,
    summary: str,
    reviewed_subject_names: list[str] | None = None,
    reviewed_intersections: Annotated[list[Pair] | None, Field(description="pairs of subject names")] = None,
) -> "work.FinishedConsolidation":
    """End the pass; what you reviewed and left unchanged stops waiting."""
    pairs = [(first, second) for first, second in reviewed_intersections or ()]
    return ws.semantic.finish_consolidation(
        generation, summary, reviewed_subject_names or (), reviewed_intersections=pairs
    )


@TOOLS.verb("Find similar subjects", READS)
def find_similar_subjects(
    ws: "Workspace", limit: int = 20, min_score: float = 0.75
) -> "tuple[results.SubjectPair, ...]":
    """List subjects that are alike and share little: to be merged, or tagged together."""
    return ws.semantic.find_similar_subjects(limit=limit, min_score=min_score)


@TOOLS.verb("Merge subjects", DESTROYS)
def merge_subjects(
    ws: "Workspace", primary: str, duplicate: str, expected_version: Version = None
) -> "results.MergedSubjects":
    """Make two subjects one: all of the duplicate moves to primary, and its name becomes an alias. Cannot be undone."""
    return ws.semantic.merge_subjects(primary, duplicate, expected_version=expected_version)


@TOOLS.verb("Get statistics", READS)
def get_stats(ws: "Workspace") -> "results.SemanticStats":
    """Count subjects, observations, understandings and vectors; tell the generation."""
    return ws.semantic.get_stats()
