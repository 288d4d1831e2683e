"""One entry of the work list: a subject, a pair or a session, its understanding beside what that has not seen.

A form carries what its page showed: the version, and up to where the person has read. What is typed survives errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from everloom.errors import Conflict, EverloomError, NotFound, Rejected
from everloom.surfaces.page.pages.desk.worklist import DESK, PAGE_TOKENS
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.semantic.results import Understanding

_MOST_SUBJECTS = 10
# So much evidence at once: about as much as somebody reads before writing, and a page of less than 150 kB.
_UNSEEN_TOKENS = 8_000
_MOST_CITED = 20
_SESSION_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TypedEntry:
    """What a person has typed and ticked."""

    content: str
    summary: str
    reason: str
    cited: frozenset[int]
    dismissed: frozenset[int]


def entry(visit: Visit) -> Response:
    """Show one entry."""
    names = _names(visit.request.query_params.getlist("name"))
    return _shown(visit, names)


def _names(given: list[str]) -> list[str]:
    names = [each for each in given if each.strip()][:_MOST_SUBJECTS]
    if not names:
        raise Rejected("no subject was named", hint="choose an entry of the work list")
    return names


def _shown(
    visit: Visit, names: list[str], error: EverloomError | None = None, typed: TypedEntry | None = None
) -> Response:
    semantic = visit.workspace.semantic
    cursor = visit.asked("cursor") or None
    unseen = semantic.read_unseen(names, cursor=cursor, max_tokens=_UNSEEN_TOKENS)
    current = None if unseen.understanding is None else _understanding(visit, unseen.understanding.id)
    cited = [int(each) for each in visit.request.query_params.getlist("cite")[:_MOST_CITED] if each.isdecimal()]
    return visit.answer(
        "entry.html",
        error,
        title=" and ".join(unseen.subject_names),
        names=unseen.subject_names,
        unseen=unseen,
        current=current,
        shown_ids={each.id for each in unseen.observations},
        also=[visit.workspace.show(each) for each in cited if each not in {one.id for one in unseen.observations}],
        typed=typed or _begun(visit, current, frozenset(cited)),
        is_conflict=isinstance(error, Conflict),
    )


def _begun(visit: Visit, current: Understanding | None, cited: frozenset[int]) -> TypedEntry:
    """Begin with what is understood now, or with what the page that led here suggests."""
    content = visit.asked("content") or ("" if current is None else current.content)
    return TypedEntry(content[:20_000], "" if current is None else current.summary, "", cited, frozenset())


def _understanding(visit: Visit, item_id: int) -> Understanding | None:
    from everloom.semantic.results import Understanding  # noqa: PLC0415  a page that shows none needs none

    found = visit.workspace.semantic.show(item_id)
    return found if isinstance(found, Understanding) else None


def write(visit: Visit) -> Response:
    """Write or revise the understanding of an entry."""
    sent, names = visit.form, _names(visit.form.texts("name"))
    typed = _typed(visit)
    evidence: dict[str, Any] = {
        "source_observation_ids": sorted(typed.cited),
        "dismissed_observation_ids": sorted(typed.dismissed),
        "seen_through_id": sent.number("seen_through"),
        "expected_version": sent.number("version") or 0,
        "reason": sent.given("reason"),
    }
    known = sent.number("understanding")
    try:
        if typed.cited & typed.dismissed:
            raise Rejected("an observation is both cited and dismissed", hint="choose one of the two for each")
        semantic = visit.acting("update_understanding" if known else "create_understanding").semantic
        if known:
            made = semantic.update_understanding(known, typed.content, typed.summary, **evidence).new_understanding_id
        else:
            made = semantic.create_understanding(names, typed.content, typed.summary, **evidence).id
    except NotFound:
        raise
    except EverloomError as error:
        return _shown(visit, names, error, typed)
    return visit.go(visit.url(f"item/{made}"), "Written. What you have read no longer waits.")


def _typed(visit: Visit) -> TypedEntry:
    sent = visit.form
    marks = {name: frozenset(sent.numbers(name)) for name in ("cite", "dismiss")}
    return TypedEntry(sent.text("content"), sent.text("summary"), sent.text("reason"), marks["cite"], marks["dismiss"])


def leave_unchanged(visit: Visit) -> Response:
    """Record that an entry was read and needs no change, and dismiss what was ticked for that."""
    names = _names(visit.form.texts("name"))
    dismissed = sorted(frozenset(visit.form.numbers("dismiss")))
    try:
        visit.acting("mark_reviewed").semantic.mark_reviewed(
            names, seen_through_id=visit.form.number("seen_through"), dismissed_observation_ids=dismissed
        )
    except NotFound:
        raise
    except EverloomError as error:
        return _shown(visit, names, error, _typed(visit))
    told = f" {len(dismissed):,} dismissed." if dismissed else ""
    return visit.go(visit.url("consolidation"), f"{' and '.join(names)}: read, and left as it is.{told}")


def session(visit: Visit) -> Response:
    """Show what a session observed, and the note on it."""
    return _session_shown(visit, visit.asked("id"))


def _session_shown(
    visit: Visit, label: str, error: EverloomError | None = None, typed: tuple[str, str] | None = None
) -> Response:
    story = visit.workspace.semantic.what_happened(label, limit=_SESSION_SHOWN, max_tokens=PAGE_TOKENS)
    return visit.answer(
        "session_note.html",
        error,
        title="Describe a session",
        story=story,
        typed=typed or (story.session.summary or "", story.content or ""),
    )


def describe(visit: Visit) -> Response:
    """Write the note on a session."""
    label, summary, content = visit.form.text("id"), visit.form.text("summary"), visit.form.given("content")
    try:
        visit.acting("describe_session").semantic.describe_session(summary, content, session_id=label)
    except NotFound:
        raise
    except EverloomError as error:
        return _session_shown(visit, label, error, (summary, content or ""))
    return visit.go(visit.url("consolidation"), "The session is described.")


PATHS = (
    look(f"{DESK}/entry", entry),
    form(f"{DESK}/entry", write),
    form(f"{DESK}/unchanged", leave_unchanged),
    look(f"{DESK}/session", session),
    form(f"{DESK}/session", describe),
)
