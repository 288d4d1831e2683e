"""The routes of the page: each page and each form, the files that pages load, and what becomes of an error.

A page is a function of a visit; it runs in a thread, because the core is synchronous. Refuses to know what any page
shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from everloom.errors import EverloomError, NotFound, meaning_of
from everloom.secrets import logger_of
from everloom.surfaces.page import signin
from everloom.surfaces.page.forms import check_form, read_form
from everloom.surfaces.page.pages import PAGES
from everloom.surfaces.page.paths import PagePath, form, look
from everloom.surfaces.page.visit import HEADERS, Visit
from everloom.surfaces.web.entrance import Entrance, discreet
from everloom.surfaces.web.gate import SIGN_IN
from everloom.surfaces.web.look import house_style

log = logger_of(__name__)

STATIC = "/static/"
_STYLE = "page.css"
# Reached without a token: where one is asked for, and what that page loads.
OPEN_PATHS = frozenset({SIGN_IN, "/sign-out", "/theme", STATIC})
_LOST = "/w/{rest:path}"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OWN = (
    look(SIGN_IN, signin.show_sign_in),
    form(SIGN_IN, signin.sign_in),
    form("/sign-out", signin.sign_out),
    form("/theme", signin.choose_theme),
)
Endpoint = Callable[[Request], Awaitable[Response]]
Visits = Callable[..., Visit]


def page_routes(entrance: Entrance) -> list[BaseRoute]:
    """Make the routes of one server process."""
    paths, visits = (*_OWN, *PAGES), partial(Visit, entrance)
    return [
        *(Route(each.path, _endpoint(visits, each), methods=[each.method]) for each in paths),
        Route(f"{STATIC}{{name}}", _static, methods=["GET"]),
        Route(_LOST, _endpoint(visits, look(_LOST, _nothing)), methods=["GET"]),
    ]


def _nothing(visit: Visit) -> Response:
    raise NotFound(f"there is no page at {visit.request.url.path[:200]}", hint="begin at the first page")


def _endpoint(visits: Visits, path: PagePath) -> Endpoint:
    async def answer(request: Request) -> Response:
        if path.stream is not None:
            return await _streamed(path.stream, visits(request))
        body = await request.body()
        return await run_sync(_answered, visits, path, request, body)

    return answer


async def _streamed(stream: Callable[[Visit], Awaitable[Response]], visit: Visit) -> Response:
    try:
        return await stream(visit)
    except EverloomError as error:
        # A script listens, which shows nothing; a browser tries again only if it is told that it may.
        return Response(discreet(error).message, meaning_of(error).http_status, HEADERS, "text/plain")


def _answered(visits: Visits, path: PagePath, request: Request, body: bytes) -> Response:
    visit = visits(request)
    try:
        if path.method == "POST":
            sent = read_form(body, request.headers.get("content-type", ""))
            check_form(sent, request.cookies)
            visit = visits(request, sent)
        return (path.answer or _nothing)(visit)
    except EverloomError as error:
        return visit.failed(error)
    except Exception:
        log.exception("the page %s failed", path.path)
        return visit.failed(EverloomError("something went wrong on this server", hint="its log says what"))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _TYPES.get(name[name.rfind(".") :])
    found = resources.files("everloom.surfaces.page") / "static" / name
    if kind is None or not found.is_file():
        return Response("there is no such file", 404, HEADERS)
    body = found.read_bytes()
    if name == _STYLE:
        # One file for the browser: the styles that all pages of this server share, and those of these pages.
        body = house_style() + body
    return Response(body, media_type=kind, headers={**HEADERS, "cache-control": "max-age=3600"})
