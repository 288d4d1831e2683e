"""Errors as problem details (RFC 9457), by the one table that every surface uses. Refuses to know what failed."""

from __future__ import annotations

from math import ceil
from typing import Any

from starlette.responses import JSONResponse

from everloom import __version__
from everloom.errors import Conflict, EverloomError, ProviderBusy, meaning_of
from everloom.kernel.answer.encode import as_data
from everloom.surfaces.web.accounting import current_request
from everloom.surfaces.web.entrance import discreet
from everloom.wiring.wire.protocol import PROBLEM, PROGRAM_HEADER

_RETRY_SECONDS = 1


def problem_of(failure: EverloomError) -> JSONResponse:
    """Write an error: what happened, what to do next, and whether repeating the same request can help."""
    error = discreet(failure)
    meaning = meaning_of(error)
    body: dict[str, Any] = {
        "type": f"urn:everloom:error:{meaning.mcp_code}",
        "title": meaning.mcp_code.replace("_", " "),
        "status": meaning.http_status,
        "detail": error.message,
        "code": meaning.mcp_code,
        "retry": meaning.retry,
    }
    if error.hint:
        body["hint"] = error.hint
    if isinstance(error, Conflict) and error.current is not None:
        body["current"] = as_data(error.current)
    if isinstance(error, ProviderBusy) and error.retry_after is not None:
        body["retry_after"] = error.retry_after
    if (request := current_request()) is not None:
        body["request_id"] = request.id
    headers = {PROGRAM_HEADER: __version__} | ({"retry-after": str(_wait(error))} if meaning.retry else {})
    return JSONResponse(body, meaning.http_status, headers, media_type=PROBLEM)


def plain_problem(status: int, title: str, detail: str, **headers: str) -> JSONResponse:
    """Write a problem of the request itself, before any verb was called."""
    body: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    body["code"] = title.replace(" ", "_")
    if (request := current_request()) is not None:
        body["request_id"] = request.id
    named = {PROGRAM_HEADER: __version__} | {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse(body, status, named, media_type=PROBLEM)


def _wait(error: EverloomError) -> int:
    asked = error.retry_after if isinstance(error, ProviderBusy) else None
    return max(_RETRY_SECONDS, ceil(asked or 0))
