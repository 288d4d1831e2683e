"""The gate in front of every route: checks Host and Origin, rate, token, size and duration of a request.

Plain ASGI, so that a refused request reaches nothing behind it. Stores the accepted token in the request's scope.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from math import ceil
from urllib.parse import urlencode

import anyio
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloom.errors import EverloomError, meaning_of
from everloom.jsontext import escaped_bytes
from everloom.kernel.tokens import Token
from everloom.secrets import logger_of
from everloom.surfaces.web.accounting import RequestFigures, accounted, answering, current_request, traced
from everloom.surfaces.web.admission import (
    PASS_KEY,
    CallerBudget,
    Rules,
    is_welcome_fetch,
    is_welcome_host,
    is_welcome_origin,
)
from everloom.surfaces.web.entrance import discreet
from everloom.surfaces.web.proxies import peer_of, seen_through

log = logger_of(__name__)

# They reveal nothing but that the process runs, and load balancers that call them have neither a token nor, often, a
# Host header that means anything.
OPEN_PATHS = frozenset({"/health", "/ready"})
# Where a person who opens a page without a token is led, if there is a page.
SIGN_IN = "/sign-in"
# The cookie in which a browser keeps the token that a person signed in with.
TOKEN_COOKIE = "everloom_token"
_BEARER = "bearer "
# The same request may succeed later.
_RETRIED = frozenset({408, 429, 503, 504})

Verify = Callable[[str], Token | None]


class RefusedRequest(Exception):
    """A request that is refused, with its response."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = refuse(status, message, headers=named)


# The last one is a stream of events.
_JSON_TYPES = ("application/json", "application/problem+json", "text/event-stream")


def refuse(
    status: int, message: str, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Write why a request is refused, as problem details; `error` says it to whoever does not know those."""
    title = HTTPStatus(status).phrase.lower()
    body: dict[str, object] = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": message,
        "code": title.replace(" ", "_"),
        "retry": status in _RETRIED,
        "error": message,
    }
    if (request := current_request()) is not None:
        body["request_id"] = request.id
    told = body if hint is None else {**body, "hint": hint}
    return JSONResponse(told, status, headers, media_type="application/problem+json")


class Gate:
    """An app behind the gate; `verify` looks up a token by its secret, `is_ending` says whether the process stops."""

    def __init__(
        self,
        app: ASGIApp,
        rules: Rules,
        verify: Verify,
        *,
        open_paths: Iterable[str] = OPEN_PATHS,
        figures: RequestFigures | None = None,
        is_ending: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app = app
        self._rules = rules
        self._verify = verify
        # One that ends with a slash opens whatever is below it.
        self._open_paths = frozenset(open_paths)
        self._open_below = tuple(each for each in self._open_paths if each.endswith("/") and each != "/")
        self._budget = CallerBudget(rules.calls_per_second, rules.burst)
        self._figures = figures or RequestFigures()
        self._is_ending = is_ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why it is refused."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # WebSockets are not served; closing before accepting makes the server refuse the handshake.
            await send({"type": "websocket.close", "code": 1008})
            return
        seen = seen_through(scope, self._rules.proxies)
        with traced(seen), accounted(seen, self._figures) as account:
            # Whoever keeps a connection to a server that stops would send the next request into the void.
            await self._answer(seen, receive, answering(account, _escaping(send), self._is_ending))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._admit(scope, receive)
        except RefusedRequest as refused:
            await refused.response(scope, receive, send)
            return
        except EverloomError as error:
            told = discreet(error)
            response = refuse(meaning_of(told).http_status, told.message, told.hint)
            await response(scope, receive, send)
            return
        await self._pass_on(scope, _replay(body, receive), send)

    async def _admit(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        # Two lengths mean two ends: a proxy in front might see another request than we do.
        if "content-length" in headers and "transfer-encoding" in headers:
            raise RefusedRequest(400, "a request has a length or comes in chunks, not both", connection="close")
        host = headers.get("host", "")
        if scope["path"] not in OPEN_PATHS and not is_welcome_host(host, self._rules):
            raise RefusedRequest(
                421, "this server does not answer to that name; `everloom serve --allow-host NAME` allows a name"
            )
        origin = headers.get("origin")
        fetched = is_welcome_fetch(headers.get("sec-fetch-site"), headers.get("sec-fetch-mode"), origin)
        if not (fetched and is_welcome_origin(origin, host, self._rules)):
            raise RefusedRequest(
                403, "this web page may not call this server; `everloom serve --allow-origin URL` allows it"
            )
        address = peer_of(scope) or "unknown"
        # Whether the server works must be told even if the store, which knows the tokens, does not answer.
        shown = None if scope["path"] in OPEN_PATHS else headers.get("authorization")
        # A browser sends its cookies everywhere; where no token is needed, an old one must not be in the way.
        if shown is None and not self._is_open(scope["path"]):
            shown = _kept_token(headers)
        token = await self._token(shown, scope, headers, address)
        self._spend(address if token is None else f"token {token.name}")
        scope[PASS_KEY] = token
        return await self._body(headers, receive)

    async def _token(self, authorization: str | None, scope: Scope, headers: Headers, address: str) -> Token | None:
        if authorization is None:
            if self._rules.needs_token and not self._is_open(scope["path"]):
                raise self._unknown(scope, headers, "a bearer token is required; `everloom token create` creates one")
            return None
        found = None
        if authorization.lower().startswith(_BEARER):
            found = await run_sync(self._verify, authorization[len(_BEARER) :].strip())
        if found is None:
            # In a bucket of its own: a client with an old token must not lock out others at its address.
            self._spend(f"wrong {address}", self._rules.wrong_token_cost)
            challenge = 'Bearer error="invalid_token"'
            message = "this token is wrong, expired or revoked; create a new one"
            raise self._unknown(scope, headers, message, challenge)
        return found

    def _is_open(self, path: str) -> bool:
        return path in self._open_paths or path.startswith(self._open_below)

    def _unknown(self, scope: Scope, headers: Headers, message: str, challenge: str = "Bearer") -> RefusedRequest:
        """Refuse a caller without a valid token; a person who opens a page is led to where a token is asked for."""
        is_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
        if is_page and SIGN_IN in self._open_paths and not scope["path"].startswith("/api/"):
            asked = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            return RefusedRequest(303, "sign in first", location=f"{SIGN_IN}?{urlencode({'to': asked})}")
        return RefusedRequest(401, message, www_authenticate=challenge)

    def _spend(self, caller: str, cost: float = 1.0) -> None:
        wait = self._budget.spend(caller, time.monotonic(), cost)
        if wait > 0:
            raise RefusedRequest(429, "too many requests", retry_after=str(ceil(wait)))

    # The whole body is read here, before the app runs: this limits size and time for every route alike, and a slow
    # sender occupies no thread of the app.
    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        most = self._rules.most_bytes
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            raise RefusedRequest(413, f"a request may have at most {most:,} bytes", connection="close")
        body = bytearray()
        with anyio.move_on_after(self._rules.body_seconds):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > most:
                    raise RefusedRequest(413, f"a request may have at most {most:,} bytes", connection="close")
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return bytes(body)
        raise RefusedRequest(408, "the request did not arrive in time", connection="close")

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        # Once a response has begun, a second one would corrupt it; the connection is then simply cut.
        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            with anyio.move_on_after(self._rules.request_seconds) as limit:
                await self._app(scope, receive, watched)
        except anyio.get_cancelled_exc_class():
            # The server stops, and this did not end in time. What was done of it is done.
            if not started:
                with anyio.CancelScope(shield=True):
                    hint = "look whether it was done before you repeat it, or repeat it with the same idempotency key"
                    told = refuse(503, "the server stopped before this was answered", hint, {"retry-after": "1"})
                    await told(scope, receive, send)
            raise
        if limit.cancelled_caught and not started:
            late = refuse(504, "the request took too long", "start long work as a job: /api/v1/jobs/start")
            await late(scope, receive, send)


def _kept_token(headers: Headers) -> str | None:
    """Return as authorization what a browser keeps since its person signed in."""
    kept = cookie_parser(headers.get("cookie", "")).get(TOKEN_COOKIE)
    return f"{_BEARER}{kept}" if kept else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Replay a body that was already read, then pass on what follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read


def _escaping(send: Send) -> Send:
    """Escape in every JSON answer what some readers take for the end of a line, whichever library wrote the answer."""
    held: Message | None = None
    is_json = False

    async def sent(message: Message) -> None:
        nonlocal held, is_json
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            is_json = kind.startswith(_JSON_TYPES)
            # A stream begins at once; an answer that tells its length waits for its body, whose length may change.
            if is_json and not kind.startswith(_JSON_TYPES[-1]):
                held = message
                return
        elif is_json and message["type"] == "http.response.body":
            message = {**message, "body": escaped_bytes(message.get("body", b""))}
        if held is not None:
            start, held = held, None
            headers = MutableHeaders(raw=[*start["headers"]])
            if "content-length" in headers and not message.get("more_body"):
                headers["content-length"] = str(len(message["body"]))
            await send({**start, "headers": headers.raw})
        await send(message)

    return sent


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "up"})


async def _no_page(_request: Request) -> PlainTextResponse:
    return PlainTextResponse(
        "everloom serves MCP at /mcp and a JSON API at /api/v1.\nThe page needs: pip install 'everloom[web]'\n"
    )


# Stands for the page where it is not installed.
NO_PAGE = Route("/", _no_page, methods=["GET"])

# Needs neither the store nor a token, so that it answers even if everything else is broken.
HEALTH = Route("/health", _health, methods=["GET"])
