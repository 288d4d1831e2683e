"""Signing in: a person gives a token once, and the browser keeps it for a while, out of reach of scripts.

Where no token is needed (on the server's own machine) nobody has to sign in. Refuses to know what a token opens.
"""

from __future__ import annotations

from starlette.responses import Response

from everloom.kernel.tokens import Tokens
from everloom.surfaces.page.visit import Visit
from everloom.surfaces.web.look import THEME_COOKIE, THEMES

# A day's work; whoever comes back tomorrow signs in again.
SIGNED_IN_SECONDS = 12 * 3600
_HOME = "/"


def show_sign_in(visit: Visit) -> Response:
    """Ask for a token."""
    return visit.page("sign_in.html", title="Sign in", to=_own_path(visit.asked("to")), wrong=False)


def sign_in(visit: Visit) -> Response:
    """Check a token and let the browser keep it."""
    secret, to = visit.form.text("token").strip(), _own_path(visit.form.text("to"))
    if Tokens(visit.loom.store, visit.loom.clock).verify(secret) is None:
        return visit.page("sign_in.html", 403, title="Sign in", to=to, wrong=True)
    visit.sign_in(secret, SIGNED_IN_SECONDS)
    return visit.go(to)


def sign_out(visit: Visit) -> Response:
    """Let the browser drop its token."""
    visit.sign_in("", 0)
    return visit.go("/sign-in", "You are signed out.")


def choose_theme(visit: Visit) -> Response:
    """Remember whether a person reads on light or on dark ground."""
    chosen = visit.form.text("theme")
    visit.keep(THEME_COOKIE, chosen if chosen in THEMES else THEMES[0])
    return visit.go(_own_path(visit.form.text("to")))


def _own_path(asked: str) -> str:
    """Return a path of this server to go on to; anything else would lead elsewhere."""
    # A browser reads "//host" and "/\\host" as another server.
    is_own = asked.startswith("/") and not asked.startswith(("//", "/\\")) and asked.isprintable()
    return asked if is_own and not asked.startswith("/sign-") else _HOME
