"""The memory as resources: Markdown documents that a person can attach to a conversation.

Headings are ours, and what was stored is quoted below them. Reading one belongs to no session, so nothing is marked as
seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mcp.server import MCPServer

from everloom.clock import shown

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.semantic.parts import BriefObservation
    from everloom.semantic.results import Orientation, SubjectRecall

# A document that a person attaches may be longer than an answer.
_DOCUMENT_TOKENS = 20_000


def offer_documents(server: MCPServer[Any], workspace: Callable[[], Workspace], faculties: Set[str]) -> None:
    """Offer the resources of these faculties; `workspace` returns that of the current reader."""

    def orientation() -> str:
        return _written_orientation(workspace().semantic.orient(max_tokens=_DOCUMENT_TOKENS))

    def subject(name: str) -> str:
        taken = workspace()
        # By its name only: `recall` alone would take an unknown name for a question, and answer with something else.
        (known,) = taken.semantic.get_subjects([name])
        return _written_subject(
            cast("SubjectRecall", taken.semantic.recall(known.name, max_tokens=_DOCUMENT_TOKENS)), taken
        )

    def core() -> str:
        return _written([("Memory core", workspace().graph.core(refresh=False, max_tokens=_DOCUMENT_TOKENS).text)])

    offer = partial(server.resource, mime_type="text/markdown")
    if "semantic" in faculties:
        told = "Soul, protocol and orientation of the workspace."
        offer("memory://orientation", title="Orientation", description=told)(orientation)
        told = "What is understood about a subject, and its latest observations."
        offer("memory://subject/{name}", title="Subject", description=told)(subject)
    if "graph" in faculties:
        told = "The most active memories, on one page."
        offer("memory://core", title="Memory core", description=told)(core)


def _written_orientation(found: Orientation) -> str:
    """Write the soul, the protocol and the orientation, in this order."""
    texts = (found.soul.content, found.protocol.content, found.orientation.content)
    return _written(zip(("Soul", "Protocol", "Orientation"), texts, strict=True))


def _written_subject(found: SubjectRecall, workspace: Workspace) -> str:
    """Write what is known about a subject."""
    single, structure = found.single_subject_understanding, found.structural_understanding
    return _written(
        [
            ("Subject", "\n".join(filter(None, [found.subject.name, found.subject.summary]))),
            ("Understanding", "" if single is None else single.content),
            ("Structure", "" if structure is None else structure.content),
            ("Recent observations", _written_observations(found.recent_observations, workspace) or "None yet."),
        ]
    )


def _written(sections: Iterable[tuple[str, str]]) -> str:
    """Write sections, each with what was stored in quoted lines; those without text are left out."""
    from everloom.models.text import marked  # noqa: PLC0415  a list of tools needs no models

    return "\n\n".join(f"# {title}\n\n{marked(text.strip())}" for title, text in sections if text.strip()) + "\n"


def _written_observations(found: Sequence[BriefObservation], workspace: Workspace) -> str:
    """Write observations as a list, each on one line with its time."""
    zone = workspace.info.zone
    lines = [f"- [{each.id}] {shown(each.observed_at, zone)}: {' '.join(each.content.split())}" for each in found]
    return "\n".join(lines)
