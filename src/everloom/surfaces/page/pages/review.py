"""Review: writes that wait for a person, each with where it comes from and what it would do; and stored secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from everloom.errors import Conflict, EverloomError, Rejected
from everloom.surfaces.page.background import INQUIRIES, WAIT_SECONDS, Inquiry
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.kernel.trust.review import HeldWrite

_REVIEW = f"{WORKSPACE}review"
_PAGE_TOKENS = 20_000
_SHOWN = 25
_MOST_SECRETS = 500

# What a held call would do, once it is approved.
_WOULD: Mapping[str, str] = {
    "semantic.remember": "remember this as an observation",
    "episodic.update_notes": "note this down, for a patrol to make a scene of",
    "graph.import_directory": "read a directory of files into the graph",
    "add": "add this text, so that searches find it",
}

# Where writes come from that wait, as people say it.
_FROM: Mapping[str, str] = {"tool": "a tool", "import": "an import", "web": "the web"}


@dataclass(frozen=True, slots=True)
class Awaiting:
    """A write that waits, with what it would do in plain words; `names` are the subjects that it names."""

    held: HeldWrite
    would: str
    names: tuple[str, ...]
    text: str
    others: Mapping[str, Any]


def review(visit: Visit) -> Response:
    """Show what waits for a decision."""
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None, reason: str = "") -> Response:
    workspace = visit.workspace
    after = visit.asked_number("after", 0)
    listed = workspace.review.list_held(after=after, limit=_SHOWN, max_tokens=_PAGE_TOKENS)
    return visit.answer(
        "review.html",
        error,
        title="Review",
        waiting=listed.waiting,
        entries=[_awaiting(visit, each) for each in listed.held],
        rest=listed.held[-1].id if len(listed.held) >= _SHOWN else None,
        after=after,
        reason=reason,
        chosen=frozenset(visit.form.texts("id")) if error is not None else frozenset(),
        holds=[_FROM[each] for each in workspace.loom.settings.review.hold],
        places=_FROM,
    )


def _awaiting(visit: Visit, held: HeldWrite) -> Awaiting:
    # The list has the beginning of each; the arguments have all of it.
    detail = visit.workspace.show(held.id).detail
    given = dict(detail.get("arguments") or {})
    names = tuple(each for each in given.pop("subject_names", ()) if isinstance(each, str))
    text = next((given.pop(name) for name in ("content", "text") if isinstance(given.get(name), str)), held.text)
    documents = given.pop("documents", None)
    if isinstance(documents, list):
        text = "\n\n".join(str(each.get("text", "")) for each in documents if isinstance(each, dict))
    would = _WOULD.get(held.call, held.call.replace(".", ": ").replace("_", " "))
    return Awaiting(held, would, names, text, {name: value for name, value in given.items() if value not in (None, [])})


def approve(visit: Visit) -> Response:
    """Make the writes that were chosen."""
    ids = visit.form.numbers("id")
    if not ids:
        return _shown(visit, Rejected("nothing was chosen", hint="tick what you decide about"))
    try:
        decided = visit.acting("approve").review.approve(ids)
    except EverloomError as error:
        return _shown(visit, error)
    problems = [f"{each.id}: {each.problem}" for each in decided if each.problem]
    made = len(decided) - len(problems)
    if problems:
        failure = Conflict(f"{made} approved, {len(problems)} not", hint="; ".join(problems)[:1_000])
        return _shown(visit, failure)
    return visit.go(visit.url("review"), f"{made} approved, and made.")


def reject(visit: Visit) -> Response:
    """Refuse the writes that were chosen."""
    ids, reason = visit.form.numbers("id"), visit.form.given("reason")
    if not ids:
        return _shown(visit, Rejected("nothing was chosen", hint="tick what you decide about"), reason or "")
    try:
        decided = visit.acting("reject").review.reject(ids, reason=reason)
    except EverloomError as error:
        return _shown(visit, error, reason or "")
    return visit.go(
        visit.url("review"), f"{len(decided)} rejected. What they said stays on record until it is forgotten."
    )


def secrets(visit: Visit) -> Response:
    """Show which secrets are stored, as far as somebody has let the server look for them."""
    latest = INQUIRIES.latest(visit.entrance, _inquiry(visit))
    found = latest.found[0] if latest is not None and latest.found else None
    error = None if latest is None else latest.error
    return visit.answer("secrets.html", error, title="Stored secrets", latest=latest, found=found)


def find_secrets(visit: Visit) -> Response:
    """Read the whole workspace for secrets that are stored; that takes its time, and nobody waits for it."""
    workspace = visit.workspace

    def find(inquiry: Inquiry) -> None:
        inquiry.found.append(workspace.review.find_secrets(limit=_MOST_SECRETS, max_tokens=_PAGE_TOKENS * 2))

    begun = INQUIRIES.begin(visit.entrance, _inquiry(visit), find)
    begun.ended.wait(WAIT_SECONDS)
    return visit.go(visit.url("review/secrets"))


def _inquiry(visit: Visit) -> str:
    return f"secrets of {visit.workspace.info.id}"


PATHS = (
    look(_REVIEW, review),
    form(f"{_REVIEW}/approve", approve),
    form(f"{_REVIEW}/reject", reject),
    look(f"{_REVIEW}/secrets", secrets),
    form(f"{_REVIEW}/secrets", find_secrets),
)
