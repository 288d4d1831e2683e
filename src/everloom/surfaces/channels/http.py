"""The channel for programs: they send messages by POST and fetch replies by GET, or have them posted to a callback.

`/messages` is behind the gate, like every route; `/webhook` accepts a signature instead of a token.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from anyio.to_thread import run_sync
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from everloom.errors import EverloomError, meaning_of
from everloom.kernel.texts import LONGEST_TEXT, checked
from everloom.surfaces.channels.delivery import Undelivered
from everloom.surfaces.channels.signing import HEADER, signature, verified
from everloom.surfaces.web.admission import PASS_KEY
from everloom.surfaces.web.entrance import discreet
from everloom.surfaces.web.gate import HEALTH, OPEN_PATHS, Gate, RefusedRequest
from everloom.surfaces.web.serving import make_server, require_token, rules_for

if TYPE_CHECKING:
    import uvicorn

    from everloom.kernel.tokens import Token, Tokens
    from everloom.mind import Conversation, StreamMessage

CHANNEL = "http"
_MOST_BYTES = 2**20
_LONGEST_WAIT = 60.0
_LOOK_EVERY = 0.1
_MOST_REPLIES = 200
# The log is read backwards for replies of this channel; the bound keeps a request for everything from reading years.
_PAGE, _MOST_PAGES = 500, 10
_CALLBACK_SECONDS = 20.0


class _HandedIn(BaseModel):
    """A message from a program; the same `key` twice is one message."""

    model_config = ConfigDict(extra="forbid")

    text: str
    key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    address: Annotated[str, Field(max_length=200)] = ""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT)] = 0.0


@dataclass(frozen=True, slots=True)
class HttpChannel:
    """One workspace's conversation over HTTP; `secret` verifies signed messages."""

    conversation: Conversation
    workspace: str
    secret: str | None = None
    wake: Callable[[], None] = lambda: None
    # With a callback, replies are marked as delivered by the outbox, and not when somebody reads them here.
    has_callback: bool = False

    def make_server(self, host: str, tokens: Tokens, names: tuple[str, ...] = ()) -> uvicorn.Server:
        """Make the server of the channel; it requires a token unless it listens on this machine only."""
        rules = rules_for(host, names)
        if rules.needs_token:
            require_token(tokens, host, self.workspace)
        routes = [
            HEALTH,
            Route("/messages", self._messages, methods=["GET", "POST"]),
            Route("/webhook", self._webhook, methods=["POST"]),
        ]
        app = Gate(
            Starlette(routes=routes),
            replace(rules, most_bytes=_MOST_BYTES),
            tokens.verify,
            open_paths=OPEN_PATHS | {"/webhook"},
        )
        return make_server(app, lifespan="off")

    async def _messages(self, request: Request) -> JSONResponse:
        return await _guard(request, self._post if request.method == "POST" else self._get)

    async def _webhook(self, request: Request) -> JSONResponse:
        return await _guard(request, self._post_signed)

    async def _post(self, request: Request) -> JSONResponse:
        """Take a message from a caller that passed the gate."""
        self._check_pass(request, writes=True)
        return await self._take(await request.body(), None)

    async def _post_signed(self, request: Request) -> JSONResponse:
        """Take a message from a caller that knows the secret."""
        if self.secret is None:
            raise RefusedRequest(403, "there is no webhook here; set EVERLOOM_WEBHOOK_SECRET to enable it")
        body = await request.body()
        digest = verified(self.secret, body, _only_header(request, HEADER), int(time.time()))
        if digest is None:
            raise RefusedRequest(401, f"the signature is missing, wrong or too old; send {HEADER}: t=SECONDS,v1=HEX")
        # The digest serves as the key: a captured request that is replayed within the window is the same message.
        return await self._take(body, f"webhook {digest}")

    async def _take(self, body: bytes, usual_key: str | None) -> JSONResponse:
        """Store a message, and wait for its reply if asked to."""
        try:
            handed = _HandedIn.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"])
            raise RefusedRequest(422, f"{place}: {first['msg']}" if place else first["msg"]) from None
        text, key = checked(handed.text, "the text", LONGEST_TEXT), handed.key or usual_key
        receive = partial(self.conversation.receive, text, channel=CHANNEL, address=handed.address, key=key)
        message = await run_sync(receive)
        self.wake()
        reply = await _wait_for(lambda: self.conversation.reply_to(message.id), handed.wait)
        if reply is not None and not self.has_callback:
            await run_sync(self.conversation.fetched, [reply])
        answer = {"id": message.id, "reply": None if reply is None else _write_reply(reply)}
        return JSONResponse(answer, 200 if reply else 202)

    async def _get(self, request: Request) -> JSONResponse:
        """Return the replies of this channel after a given id."""
        only_reads = self._check_pass(request, writes=False)
        after, wait = _number_in(request, "after", 2**63 - 1), _number_in(request, "wait", int(_LONGEST_WAIT))
        address = request.query_params.get("address")
        found = await _wait_for(lambda: self._replies(after, address), wait) or []
        # A token that may only read must not mark replies as delivered: another client is still waiting for them.
        if not (self.has_callback or only_reads):
            await run_sync(self.conversation.fetched, found)
        return JSONResponse({"messages": [_write_reply(each) for each in found]})

    def _check_pass(self, request: Request, *, writes: bool) -> bool:
        """Refuse a token for another workspace, or a read-only one for a write; returns whether it is read-only."""
        found: Token | None = request.scope.get(PASS_KEY)
        if found is None:
            return False
        if found.workspace not in {None, self.workspace}:
            raise RefusedRequest(403, "this token is for another workspace")
        if writes and found.read_only:
            raise RefusedRequest(403, "this token may only read")
        return found.read_only

    def _replies(self, after: int, address: str | None) -> list[StreamMessage]:
        """List the replies of this channel after an id, oldest first; very old ones may be left out."""
        found: list[StreamMessage] = []
        before = None
        for _ in range(_MOST_PAGES):
            page = self.conversation.log(limit=_PAGE, before=before)
            found += [each for each in page if each.direction == "out" and each.channel == CHANNEL and each.id > after]
            if len(page) < _PAGE or page[-1].id <= after:
                break
            before = page[-1].id
        kept = [each for each in found if address is None or each.address == address]
        return sorted(kept, key=lambda each: each.id)[:_MOST_REPLIES]


async def _guard(request: Request, act: Callable[[Request], Awaitable[JSONResponse]]) -> JSONResponse:
    """Handle a request; any error becomes its response."""
    try:
        return await act(request)
    except RefusedRequest as refused:
        return refused.response
    except EverloomError as error:
        told = discreet(error)
        return JSONResponse({"error": told.message, "hint": told.hint}, meaning_of(told).http_status)


def _only_header(request: Request, name: str) -> str | None:
    """Return a header that was sent exactly once."""
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else None


def _number_in(request: Request, name: str, most: int) -> int:
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdecimal() and int(text) <= most):
        raise RefusedRequest(422, f"{name} must be a number from 0 to {most}")
    return int(text)


async def _wait_for(look: Callable[[], Any], seconds: float) -> Any:
    """Poll until something is found or the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        found = await run_sync(look)
        if found or time.monotonic() >= deadline:
            return found
        await anyio.sleep(_LOOK_EVERY)


def _write_reply(message: StreamMessage) -> dict[str, Any]:
    return {"id": message.id, "text": message.text, "at": message.at.isoformat(), "address": message.address}


class Callback:
    """The address to which replies are posted, signed; their ids let the receiver ignore repetitions."""

    def __init__(self, url: str, secret: str, workspace: str) -> None:
        import httpx2  # noqa: PLC0415  slow to import

        self._url = url
        self._secret = secret
        self._workspace = workspace
        self._client = httpx2.Client(timeout=_CALLBACK_SECONDS, follow_redirects=False)
        weakref.finalize(self, self._client.close)

    def send(self, message: StreamMessage) -> None:
        """Post one reply."""
        import httpx2  # noqa: PLC0415  slow to import

        body = json.dumps({"workspace": self._workspace, **_write_reply(message)}, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", HEADER: signature(self._secret, body, int(time.time()))}
        try:
            status = self._client.post(self._url, content=body, headers=headers).status_code
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise Undelivered(f"gateway.callback does not answer ({type(error).__name__})") from None
        if status >= 300:
            # A redirect is final too: following it would send the signed reply to an address that nobody configured.
            is_final = 300 <= status < 500 and status not in {408, 425, 429}
            raise Undelivered(f"gateway.callback answered {status}", is_final=is_final)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
