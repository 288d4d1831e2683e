"""The tools of semantic memory that an agent needs in conversation; `tending.py` has what consolidation needs.

Each calls the operation of the same name with the same arguments. No `from __future__ import annotations` here: the SDK
reads the parameters' types, and only results are quoted, so that listing the tools loads no faculty.
"""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from everloom.clock import read_instant
from everloom.surfaces.mcp.toolset import ADDS, ADDS_ONCE, READS, Toolset

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.semantic import results

TOOLS = Toolset()


@TOOLS.verb("Orient", READS)
def orient(ws: "Workspace") -> "results.Orientation":
    """Call first in a conversation and after a compaction: who you are (soul), how to work (protocol), where things
    stand (orientation), what waits for consolidation. Starts the seen log afresh."""
    return ws.semantic.orient()


@TOOLS.verb("Bring to mind", READS)
def bring_to_mind(
    ws: "Workspace",
    topic_or_context: str | list[str],
    last_token: Annotated[int | None, Field(description="heartbeat_token of your last call")] = None,
    include_seen: bool = False,
) -> "results.BroughtToMind":
    """Associative recall on one topic or several; call it often. Leaves out what this conversation was shown. A missing
    or wrong last_token means that your context was compacted: then everything may come again."""
    return ws.semantic.bring_to_mind(topic_or_context, last_token=last_token, include_seen=include_seen)


@TOOLS.verb("Recall", READS)
def recall(ws: "Workspace", question_or_subject_name: str) -> "results.Recall":
    """Directed recall. A question: the best answer, what supports it, where it comes from. An exact subject name: its
    understanding and recent observations."""
    return ws.semantic.recall(question_or_subject_name)


@TOOLS.verb("Reset what was seen", READS)
def reset_seen(ws: "Workspace") -> "results.SeenReset":
    """Forget what this conversation was shown, so that bring_to_mind brings it again. orient does so too."""
    return ws.semantic.reset_seen()


@TOOLS.verb("Open around a subject", READS)
def open_around(ws: "Workspace", subject_name: str) -> "results.Neighborhood":
    """List a subject's neighbours, by how much is tagged with both."""
    return ws.semantic.open_around(subject_name)


@TOOLS.verb("Open an intersection", READS)
def open_intersection(ws: "Workspace", subject_a: str, subject_b: str) -> "results.Intersection":
    """Show everything that is tagged with both subjects: that is their relationship."""
    return ws.semantic.open_intersection(subject_a, subject_b)


@TOOLS.verb("Remember", ADDS_ONCE)
def remember(
    ws: "Workspace",
    subject_names: list[str],
    content: str,
    kind: Annotated[str | None, Field(description="fact, inference, preference, task_state or reflection")] = None,
    confidence: Annotated[float | None, Field(description="0 to 1")] = None,
    related_to: Annotated[list[int] | None, Field(description="ids of understandings")] = None,
) -> "results.Remembered":
    """Keep one observation for good. Tag only subjects that it is about; a new name makes a subject (subjects_created),
    one like another shows in similar_subjects. related_to claims direct evidence for an understanding, not nearness:
    when in doubt leave it out. The same text is kept once."""
    return ws.semantic.remember(subject_names, content, kind=kind, confidence=confidence, related_to=related_to)


@TOOLS.verb("Update an understanding", ADDS)
def update_understanding(  # noqa: PLR0913, PLR0917  the contract's parameters
    ws: "Workspace",
    understanding_id: int,
    new_content: str,
    new_summary: str,
    subject_names: list[str] | None = None,
    reason: str | None = None,
    seen_through_id: Annotated[int | None, Field(description="as_of_id of what you read")] = None,
    expected_version: Annotated[int | None, Field(description="version you read; conflict if it moved on")] = None,
) -> "results.UpdatedUnderstanding":
    """Revise an understanding (also soul, protocol, orientation): the new one supersedes it, history is kept. Without
    subject_names it keeps its subjects."""
    return ws.semantic.update_understanding(
        understanding_id,
        new_content,
        new_summary,
        subject_names=subject_names,
        reason=reason,
        seen_through_id=seen_through_id,
        expected_version=expected_version,
    )


@TOOLS.verb("Mark as useful", ADDS)
def mark_useful(ws: "Workspace", id: int) -> "results.Marked":  # noqa: A002  the contract's name
    """Say that an observation or understanding helped; it ranks higher."""
    return ws.semantic.mark_useful(id)


@TOOLS.verb("Mark as questionable", ADDS)
def mark_questionable(ws: "Workspace", id: int, reason: str | None = None) -> "results.Marked":  # noqa: A002
    """Say that an observation or understanding may be wrong or stale; it ranks lower and waits for review."""
    return ws.semantic.mark_questionable(id, reason)


@TOOLS.verb("List sessions", READS)
def sessions(
    ws: "Workspace",
    limit: int = 10,
    active_within_hours: float = 24,
    after: Annotated[str | None, Field(description="ISO date or time; replaces the hours")] = None,
    before: str | None = None,
) -> "tuple[results.SessionSummary, ...]":
    """List the conversations of this workspace, latest first."""
    zone = ws.info.zone
    return ws.semantic.sessions(
        limit,
        active_within_hours,
        after=None if after is None else read_instant(after, zone),
        before=None if before is None else read_instant(before, zone, end_of_day=True),
    )


@TOOLS.verb("What happened", READS)
def what_happened(ws: "Workspace", session_id: str) -> "results.SessionStory":
    """Tell what one session observed, in order."""
    return ws.semantic.what_happened(session_id)


@TOOLS.verb("Describe a session", ADDS_ONCE)
def describe_session(
    ws: "Workspace",
    summary: str,
    content: str | None = None,
    session_id: Annotated[str | None, Field(description="this one if left out")] = None,
    expected_version: int | None = None,
) -> "results.DescribedSession":
    """Write, or rewrite, the one note on what a conversation was about."""
    return ws.semantic.describe_session(summary, content, session_id=session_id, expected_version=expected_version)
