"""Tokens: who may reach which workspace from elsewhere. A secret is shown once, on the page that answers the form."""

from __future__ import annotations

from starlette.responses import Response

from everloom.errors import EverloomError
from everloom.kernel.tokens import Issued, Tokens
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

_TOKENS = "/tokens"


def tokens(visit: Visit) -> Response:
    """List every token."""
    visit.must_own()
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None, issued: Issued | None = None) -> Response:
    loom = visit.loom
    names = ("name", "workspace", "days")
    return visit.answer(
        "tokens.html",
        error,
        title="Tokens",
        tokens=Tokens(loom.store, loom.clock).list(),
        places=loom.workspaces.list(),
        issued=issued,
        typed={name: visit.form.text(name) for name in names} if error else dict.fromkeys(names, ""),
        is_read_only=error is not None and visit.form.is_on("read_only"),
    )


def create(visit: Visit) -> Response:
    """Create a token, and show its secret on this very answer: in no address, no cookie and no store."""
    visit.must_own(writes=True)
    loom = visit.loom
    try:
        place = loom.workspaces.get(visit.form.text("workspace"))
        days = visit.form.number("days")
        read_only = visit.form.is_on("read_only")
        made = Tokens(loom.store, loom.clock).create(visit.form.text("name"), place, read_only=read_only, days=days)
    except EverloomError as error:
        return _shown(visit, error)
    return _shown(visit, issued=made)


def revoke(visit: Visit) -> Response:
    """Revoke a token at once."""
    visit.must_own(writes=True)
    gone = Tokens(visit.loom.store, visit.loom.clock).revoke(visit.form.text("name"))
    return visit.go(_TOKENS, f"“{gone.name}” is revoked, as of now.")


PATHS = (
    look(_TOKENS, tokens),
    form(_TOKENS, create),
    form(f"{_TOKENS}/revoke", revoke),
)
