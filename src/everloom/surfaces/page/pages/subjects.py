"""Subjects: the list of all, and the page of one: what is understood and how that changed, evidence, neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from starlette.responses import Response

from everloom.errors import EverloomError, Rejected, meaning_of
from everloom.semantic.arguments import ObservationKind
from everloom.surfaces.page.diff import words_diff
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.pictures.neighbourhood import Neighbour, neighbourhood
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from markupsafe import Markup

    from everloom.loom import Workspace
    from everloom.semantic.results import Subject
    from everloom.semantic.views import UnderstandingVersion

_PAGE_TOKENS = 40_000
_A_PAGE = 50
_OBSERVATIONS = 25
_NEIGHBOURS = 16
# Versions that are shown with what changed; the oldest of them leads to those before it.
_VERSIONS = 6


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version of an understanding, and what changed since the one before it."""

    version: UnderstandingVersion
    changes: Markup | None


@dataclass(frozen=True, slots=True)
class FailedForm:
    """A form that could not be carried out: which, why, and what was typed into it."""

    name: str = ""
    error: EverloomError | None = None
    typed: Mapping[str, str] = field(default_factory=dict)


def subjects(visit: Visit) -> Response:
    """List the subjects, page by page."""
    name, tag, cursor = (visit.asked(each).strip() or None for each in ("name", "tag", "cursor"))
    found, error = None, None
    try:
        # Whoever types a name means that, whatever tag was chosen before.
        chosen = {"name": name} if name else {"tag": tag}
        found = visit.workspace.semantic.list_subjects(**chosen, cursor=cursor, limit=_A_PAGE, max_tokens=_PAGE_TOKENS)
    except Rejected as failure:
        error = failure
    return visit.page(
        "subjects.html",
        200 if error is None else 422,
        title="Subjects",
        found=found,
        name=name or "",
        tag=None if name else tag,
        is_later=cursor is not None,
        error=error,
    )


def subject(visit: Visit) -> Response:
    """Show everything about one subject."""
    return shown_subject(visit, asked_subject(visit))


def asked_subject(visit: Visit) -> Subject:
    """Find the subject that the query names, by its name or its id."""
    semantic, name = visit.workspace.semantic, visit.asked("name")
    if not name:
        name = getattr(semantic.show(visit.asked_number("id", 0)), "name", "")
    if not name:
        raise Rejected("no subject was named", hint="choose one from the list of subjects")
    return named_subject(visit.workspace, name)


def named_subject(workspace: Workspace, name: str) -> Subject:
    """Find a subject by its name or one of its aliases."""
    (found,) = workspace.semantic.get_subjects([name], max_tokens=_PAGE_TOKENS)
    return found


def shown_subject(visit: Visit, known: Subject, failed: FailedForm | None = None) -> Response:
    """Show a subject's page, perhaps with a form that could not be carried out."""
    semantic, cursor = visit.workspace.semantic, visit.asked("cursor") or None
    region = semantic.open_region([known.name], cursor=cursor, limit=_OBSERVATIONS, max_tokens=_PAGE_TOKENS)
    beside = semantic.open_around(known.name, limit=_NEIGHBOURS, max_tokens=_PAGE_TOKENS).neighbors
    neighbours = tuple(
        Neighbour(
            name=each.subject.name,
            shared=each.intersection_size,
            address=visit.url("subject", name=each.subject.name),
            shared_address=visit.url("venn", subject=[known.name, each.subject.name], region="ab"),
        )
        for each in beside
    )
    single, structural = known.single_subject_understanding, known.structural_understanding
    status = 200 if failed is None or failed.error is None else meaning_of(failed.error).http_status
    return visit.page(
        "subject.html",
        status,
        title=known.name,
        known=known,
        is_waiting=_is_waiting(visit.workspace, known),
        versions=versions_of(visit.workspace, single.id, _VERSIONS) if single else (),
        structural=versions_of(visit.workspace, structural.id, 3) if structural else (),
        region=region,
        is_later=cursor is not None,
        neighbours=neighbours,
        picture=neighbourhood(known.name, neighbours) if neighbours else None,
        failed=failed or FailedForm(),
        kinds=get_args(ObservationKind),
    )


def _is_waiting(workspace: Workspace, known: Subject) -> bool:
    # The name itself is the first of those that begin like it.
    listed = workspace.semantic.list_subjects(name=known.name, limit=1).subjects
    return any(each.id == known.id and each.is_waiting for each in listed)


def versions_of(workspace: Workspace, understanding_id: int, most: int) -> Sequence[ShownVersion]:
    """Read the latest versions of an understanding, each with what changed since the one before it."""
    found = workspace.semantic.list_versions(understanding_id, limit=most + 1, max_tokens=100_000)
    older = [*found[1:], None]
    return tuple(
        ShownVersion(each, None if before is None else words_diff(before.content, each.content))
        for each, before in zip(found, older, strict=True)
    )[:most]


PATHS = (look(f"{WORKSPACE}subjects", subjects), look(f"{WORKSPACE}subject", subject))
