"""What a person does with a subject: observe something, describe it, tag it, name it, merge it, judge what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from starlette.responses import Response

from everloom.errors import EverloomError, NotFound
from everloom.surfaces.page.pages.subjects import FailedForm, asked_subject, named_subject, shown_subject
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.semantic.arguments import ObservationKind

_SUBJECT = f"{WORKSPACE}subject"
_FIELDS = ("text", "kind", "about", "summary", "tags", "alias")


def observe(visit: Visit) -> Response:
    """Add an observation about the subject, and about others."""

    def act(workspace: Workspace, name: str) -> str:
        sent = visit.form
        about = [name, *_lines(sent.text("about"))]
        made = workspace.semantic.remember(
            about, sent.text("text"), kind=cast("ObservationKind | None", sent.given("kind"))
        )
        if made.held:
            return made.held
        new = f" New: {', '.join(made.subjects_created)}." if made.subjects_created else ""
        return f"{'It was known already' if made.duplicate else 'Remembered'} as {made.id}.{new}"

    return _done(visit, "remember", act)


def describe(visit: Visit) -> Response:
    """Change the subject's summary."""

    def act(workspace: Workspace, name: str) -> str:
        version = visit.form.number("version")
        workspace.semantic.set_subject_summary(name, visit.form.text("summary"), expected_version=version)
        return "The summary is changed."

    return _done(visit, "set_subject_summary", act)


def tag(visit: Visit) -> Response:
    """Replace the subject's tags."""

    def act(workspace: Workspace, name: str) -> str:
        tags, version = _lines(visit.form.text("tags")), visit.form.number("version")
        workspace.semantic.set_subject_tags(name, tags, expected_version=version)
        return "The tags are changed."

    return _done(visit, "set_subject_tags", act)


def alias(visit: Visit) -> Response:
    """Give the subject another name."""

    def act(workspace: Workspace, name: str) -> str:
        version = visit.form.number("version")
        workspace.semantic.add_alias(name, visit.form.text("alias"), expected_version=version)
        return "It is found by this name, too."

    return _done(visit, "add_alias", act)


def unalias(visit: Visit) -> Response:
    """Take one of its names away from the subject."""

    def act(workspace: Workspace, name: str) -> str:
        version = visit.form.number("version")
        workspace.semantic.remove_alias(name, visit.form.text("alias"), expected_version=version)
        return "It is no longer found by this name."

    return _done(visit, "remove_alias", act)


def judge(visit: Visit) -> Response:
    """Judge something that is said about the subject, and come back."""

    def act(workspace: Workspace, _name: str) -> str:
        item_id, verdict = visit.form.number("id") or 0, visit.form.text("verdict")
        workspace.mark(item_id, cast("Literal['useful', 'questionable']", verdict), visit.form.given("reason"))
        return f"{item_id} is marked as {verdict}."

    return _done(visit, "mark", act)


def preview_merge(visit: Visit) -> Response:
    """Show both subjects before one becomes the other: that cannot be undone."""
    known, into = asked_subject(visit), visit.asked("into").strip()
    try:
        other = named_subject(visit.workspace, into)
        shared = visit.workspace.semantic.measure_overlap([known.name, other.name]).pairs[0].observation_count
    except EverloomError as error:
        return shown_subject(visit, known, FailedForm("merge", error, {"into": into}))
    return visit.page("merge.html", title=f"Merge {known.name}", known=known, other=other, shared=shared, error=None)


def merge(visit: Visit) -> Response:
    """Let one subject become another."""
    name, into = visit.form.text("name"), visit.form.text("into")
    made = visit.acting("merge_subjects").semantic.merge_subjects(
        into, name, expected_version=visit.form.number("version")
    )
    moved = f"{made.observations_moved:,} observations and {made.understandings_moved:,} understandings"
    return visit.go(visit.url("subject", name=made.primary), f"{name} is now {made.primary}: {moved} were moved.")


def _done(visit: Visit, name: str, act: Callable[[Workspace, str], str]) -> Response:
    """Do something with the subject that a form names; if that fails, show its page with what was typed."""
    sent = visit.form
    subject_name, which = sent.text("name"), visit.request.url.path.rsplit("/", 1)[-1]
    try:
        said = act(visit.acting(name), subject_name)
    except EverloomError as error:
        known = named_subject(visit.workspace, subject_name)
        if isinstance(error, NotFound) and which not in {"unalias", "mark"}:
            raise
        typed = {each: sent.text(each) for each in _FIELDS}
        return shown_subject(visit, known, FailedForm(which, error, typed))
    return visit.go(visit.url("subject", name=subject_name), said)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


PATHS = (
    form(f"{_SUBJECT}/observe", observe),
    form(f"{_SUBJECT}/summary", describe),
    form(f"{_SUBJECT}/tags", tag),
    form(f"{_SUBJECT}/alias", alias),
    form(f"{_SUBJECT}/unalias", unalias),
    form(f"{_SUBJECT}/mark", judge),
    look(f"{_SUBJECT}/merge", preview_merge),
    form(f"{_SUBJECT}/merge", merge),
)
