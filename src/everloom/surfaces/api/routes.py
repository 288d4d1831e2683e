"""The routes of the JSON API: one for each verb, the description, and the stream of changes.

A verb runs in a thread, because the core is synchronous. Every answer is JSON; an answer that has a version carries it
as its ETag, which `If-Match` takes back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from everloom import __version__
from everloom.errors import EverloomError
from everloom.kernel.answer.encode import as_object, written
from everloom.kernel.answer.whole import whole_answer
from everloom.kernel.trust.noticed import noticing
from everloom.secrets import logger_of
from everloom.surfaces.api.answer import answer_stream
from everloom.surfaces.api.calls import ApiCall, api_calls
from everloom.surfaces.api.changes import changes, job_changes
from everloom.surfaces.api.description import describe
from everloom.surfaces.api.paging import next_page
from everloom.surfaces.api.problems import plain_problem, problem_of
from everloom.surfaces.api.reference import REFERENCE, STYLE, reference_page, reference_style
from everloom.surfaces.web.admission import PASS_KEY
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import CallClues
from everloom.surfaces.web.look import theme_of
from everloom.wiring.wire.protocol import ANSWER, CHANGES, JOB_CHANGES, PROGRAM_HEADER, ROOT, WHOLE_HEADER

if TYPE_CHECKING:
    from everloom.kernel.tokens import Token

log = logger_of(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]
# Nothing of an answer may be run or shown as a page, and no store on the way may keep it.
_SAFE = {"cache-control": "no-store", "x-content-type-options": "nosniff", PROGRAM_HEADER: __version__}
_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = {**_SAFE, "content-security-policy": _POLICY, "referrer-policy": "same-origin"}


def api_routes(entrance: Entrance) -> list[Route]:
    """Make the routes of one server process."""

    async def index(_request: Request) -> Response:
        return JSONResponse({"openapi": f"{ROOT}/openapi.json", "reference": REFERENCE}, headers=_SAFE)

    async def openapi(_request: Request) -> Response:
        return JSONResponse(await run_sync(describe), headers=_SAFE)

    async def reference(request: Request) -> Response:
        return HTMLResponse(await run_sync(reference_page, theme_of(request.cookies)), headers=_PAGE)

    async def style(_request: Request) -> Response:
        return Response(reference_style(), media_type="text/css", headers={**_SAFE, "cache-control": "max-age=3600"})

    async def stream(request: Request) -> Response:
        return await _guarded(lambda: changes(entrance, clues_of(request), request))

    async def job_stream(request: Request) -> Response:
        return await _guarded(lambda: job_changes(entrance, clues_of(request), request))

    async def answered(request: Request) -> Response:
        return await _guarded(lambda: answer_stream(entrance, clues_of(request), request))

    async def unknown(request: Request) -> Response:
        if methods := allowed.get(request.url.path):
            detail = f"this call takes {' or '.join(methods)}"
            return plain_problem(405, "method not allowed", detail, allow=", ".join(methods))
        return plain_problem(404, "not found", f"there is nothing at {request.url.path}; {ROOT}/reference lists it all")

    allowed = {each.path: each.methods for each in api_calls()}
    return [
        Route(ROOT, index, methods=["GET"]),
        Route(f"{ROOT}/openapi.json", openapi, methods=["GET"]),
        Route(REFERENCE, reference, methods=["GET"]),
        Route(STYLE, style, methods=["GET"]),
        Route(CHANGES, stream, methods=["GET"]),
        Route(JOB_CHANGES, job_stream, methods=["GET"]),
        Route(ANSWER, answered, methods=["GET"]),
        *(Route(each.path, _endpoint(entrance, each), methods=list(each.methods)) for each in api_calls()),
        Route(f"{ROOT}/{{rest:path}}", unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ]


def clues_of(request: Request) -> CallClues:
    """Collect what identifies the caller."""
    token = cast("Token | None", request.scope.get(PASS_KEY))
    return CallClues(None, {}, {name.lower(): value for name, value in request.headers.items()}, token)


def _endpoint(entrance: Entrance, call: ApiCall) -> Endpoint:
    async def answer(request: Request) -> Response:
        body = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # A page of another site can send a form or plain text without asking first, and JSON only after asking.
        if request.method == "POST" and body and kind != "application/json":
            return plain_problem(415, "unsupported media type", "send the arguments as application/json")
        return await _guarded(lambda: run_sync(_answered, entrance, call, request, body))

    return answer


def _answered(entrance: Entrance, call: ApiCall, request: Request, body: bytes) -> Response:
    headers = request.headers
    in_query = request.method != "POST"
    given = call.given_in_query(request.query_params, headers) if in_query else call.given_in_body(body, headers)
    workspace = entrance.enter(call.name, clues_of(request), writes=call.verb.effect.writes)
    with noticing() as secrets:
        value = call.run(workspace, given)
    if headers.get(WHOLE_HEADER):
        return Response(whole_answer(value, secrets), media_type="application/json", headers=_SAFE)
    answer = as_object(value)
    if secrets:
        answer["secrets"] = [str(each) for each in secrets]
    version = _version_of(answer)
    tag = {} if version is None else {"etag": f'"{version}"'}
    if onwards := next_page(call, given, answer):
        tag["link"] = f'<{onwards}>; rel="next"'
    return Response(written(answer), media_type="application/json", headers={**_SAFE, **tag})


def _version_of(answer: Mapping[str, Any]) -> int | str | None:
    """Find the version of what an answer shows: of itself, of the edge it drew, or of the entry as it is now."""
    for place in (answer, *(answer.get(name) for name in ("edge", "after"))):
        found = place.get("version") if isinstance(place, Mapping) else None
        if isinstance(found, int | str) and found:
            return found
    return None


async def _guarded(answer: Callable[[], Awaitable[Response]]) -> Response:
    """Turn errors into problem details; one that nobody expected is logged, and says nothing about the inside."""
    try:
        return await answer()
    except EverloomError as error:
        return problem_of(error)
    except Exception:
        log.exception("a call of the API failed")
        return plain_problem(500, "internal error", "the server's log says what happened")
