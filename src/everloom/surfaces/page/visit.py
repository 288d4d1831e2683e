"""One visit of a person: the request for a page, the workspace it shows, and how the answer is made.

Looking opens the workspace so that nothing at all is written; only a form that was sent opens it for writing, and what
it writes comes from a person. Refuses to know what any page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from everloom import __version__
from everloom.errors import EverloomError, Forbidden, Rejected, meaning_of
from everloom.surfaces.page.forms import FORM_COOKIE, FORM_FIELD, Form, new_form_key
from everloom.surfaces.page.html import templates, time_in
from everloom.surfaces.page.navigation import NAVIGATION
from everloom.surfaces.web.admission import PASS_KEY
from everloom.surfaces.web.answering import Answering
from everloom.surfaces.web.entrance import Entrance, discreet
from everloom.surfaces.web.gate import TOKEN_COOKIE
from everloom.surfaces.web.look import THEMES, theme_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from everloom.kernel.tokens import Token
    from everloom.loom import Loom, Workspace

# Nothing of a page runs, loads or is sent anywhere but from and to this server; no page can be framed, or kept by a
# cache.
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_SAID_COOKIE = "everloom_said"
# What was done is said on the next page that is loaded, if that is soon.
_SAID_SECONDS = 60
_YEAR_SECONDS = 365 * 24 * 3600


class Visit:
    """One request for a page, and the person behind it."""

    def __init__(self, entrance: Entrance, request: Request, form: Form | None = None) -> None:
        self.entrance = entrance
        self.answering: Answering = entrance.answering
        self.request = request
        self._form = form
        self._cookies: dict[str, tuple[str, int]] = {}
        # The newest event when the workspace was opened: what came later is not on the page.
        self.newest_event = 0

    @property
    def form(self) -> Form:
        """The form that was sent."""
        if self._form is None:
            raise Rejected("no form was sent", hint="go back, and use the form of the page")
        return self._form

    @property
    def token(self) -> Token | None:
        """The token that the person signed in with, if any."""
        return cast("Token | None", self.request.scope.get(PASS_KEY))

    @property
    def loom(self) -> Loom:
        """The memory that the server serves."""
        return self.entrance.opening.take()

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace that the path names, opened so that looking leaves no trace."""
        found = self.entrance.look(self.number_in_path("workspace"), self.token)
        # Before anything is read for the page, so that no change falls between the two.
        self.newest_event = next((each.id for each in found.events(limit=1)), 0)
        return found

    def acting(self, name: str) -> Workspace:
        """Open the workspace for something that a person does, called `name`."""
        return self.entrance.act(name, self.number_in_path("workspace"), self.token)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which times are shown and read."""
        return self.workspace.info.zone

    @property
    def may_write(self) -> bool:
        """Whether the person could change anything, so that forms are worth showing."""
        return not (self.entrance.process.read_only or (self.token is not None and self.token.read_only))

    @property
    def is_owner(self) -> bool:
        """Whether the person may see what concerns the whole server: on this machine, without a token."""
        return self.token is None and self.entrance.process.workspace is None

    def must_own(self, *, writes: bool = False) -> None:
        """Refuse somebody who does not run the server what concerns the whole of it."""
        if not self.is_owner:
            hint = "open the page on the machine of the server, without a token, or use its command line"
            raise Forbidden("this is for whoever runs the server", hint=hint)
        if writes and not self.may_write:
            raise Forbidden("this server is read-only", hint="start it without --read-only")

    def number_in_path(self, name: str) -> int:
        """Read a number that is part of the path."""
        return int(self.request.path_params[name])

    def asked(self, name: str, default: str = "") -> str:
        """Read one value of the query."""
        return self.request.query_params.get(name, default)

    def asked_number(self, name: str, default: int, *, least: int = 0, most: int = 2**62) -> int:
        """Read a whole number of the query, kept within bounds; anything else is the default."""
        value = self.asked(name)
        # As a person may have changed it in the address line: what cannot be read is as if it were not there.
        return (
            min(most, max(least, int(value))) if value.isascii() and value.isdecimal() and len(value) < 19 else default
        )

    def url(self, path: str = "", **query: object) -> str:
        """Make the address of a page of this workspace."""
        asked = [(name, value) for name, value in query.items() if value not in (None, "", (), [])]
        more = urlencode([(name.rstrip("_"), cast("Any", value)) for name, value in asked], doseq=True)
        return f"/w/{self.request.path_params['workspace']}/{path}" + (f"?{more}" if more else "")

    def keep(self, name: str, value: str, seconds: int = _YEAR_SECONDS) -> None:
        """Let the browser keep a value; no script can read it, and no other site can make it be sent."""
        self._cookies[name] = (quote(value, safe=""), seconds)

    def kept(self, name: str) -> str | None:
        """Read a value that the browser kept."""
        found = self.request.cookies.get(name)
        return None if found is None else unquote(found)

    def page(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Answer with a page."""
        return self._baked(HTMLResponse(self.rendered(template, **values), status, HEADERS))

    def answer(self, template: str, error: EverloomError | None, /, **values: object) -> Response:
        """Answer with a page that has a form; an error that the form met is said beside what was typed."""
        told = None if error is None else discreet(error)
        status = 200 if told is None else meaning_of(told).http_status
        return self.page(template, status, error=told, **values)

    def rendered(self, template: str, /, **values: object) -> str:
        """Render a template, or a part of a page that a script asked for."""
        return templates().get_template(template).render({**self._known(), **values})

    def go(self, address: str, said: str = "") -> Response:
        """Lead the browser to another page, which says what was done."""
        if said:
            self.keep(_SAID_COOKIE, said[:1_000], _SAID_SECONDS)
        return self._baked(RedirectResponse(address, 303, {"cache-control": "no-store"}))

    def failed(self, failure: EverloomError) -> Response:
        """Answer with a page that says what went wrong and what to do."""
        error = discreet(failure)
        return self.page("error.html", meaning_of(error).http_status, error=error, title="That did not work")

    def _known(self) -> dict[str, object]:
        """Collect what every page knows."""
        has_workspace = "workspace" in self.request.path_params
        said = self.kept(_SAID_COOKIE)
        if said is not None:
            self.keep(_SAID_COOKIE, "", 0)
        return {
            "visit": self,
            "version": __version__,
            "theme": theme_of(self.request.cookies),
            "themes": THEMES,
            "navigation": NAVIGATION,
            "said": said,
            "form_field": FORM_FIELD,
            "form_key": self.form_key,
            "info": self._info() if has_workspace else None,
            "newest_event": self.newest_event,
            "when": partial(time_in, self._zone()),
            "path": self.request.url.path,
            "title": "everloom",
        }

    def _info(self) -> object:
        # An error page must also be shown for a workspace that cannot be opened.
        try:
            return self.workspace.info
        except EverloomError:
            return None

    def _zone(self) -> ZoneInfo:
        from everloom.clock import zone_named  # noqa: PLC0415  only where there is no workspace

        info = self._info() if "workspace" in self.request.path_params else None
        return zone_named("UTC") if info is None else cast("Any", info).zone

    @cached_property
    def form_key(self) -> str:
        """The key that every form of this browser repeats."""
        if known := self.request.cookies.get(FORM_COOKIE):
            return known
        made = new_form_key()
        self.keep(FORM_COOKIE, made)
        return made

    def sign_in(self, secret: str, seconds: int) -> None:
        """Let the browser keep a token."""
        self.keep(TOKEN_COOKIE, secret, seconds)

    def _baked(self, response: Response) -> Response:
        # Only over HTTPS does a browser take a cookie that is for HTTPS alone; it says so in the Origin of a form.
        is_secure = self.request.headers.get("origin", "").startswith("https://") or self.request.url.scheme == "https"
        for name, (value, seconds) in self._cookies.items():
            options: Mapping[str, Any] = {"httponly": True, "samesite": "strict", "secure": is_secure, "path": "/"}
            response.set_cookie(name, value, max_age=seconds, **options)
        return response
